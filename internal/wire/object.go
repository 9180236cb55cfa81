package wire

// Reading JSON objects strictly: a property is there or not, has its type or not, and an error names it.

import (
	"bytes"
	"cmp"
	"encoding/json"
)

// FieldError says what is wrong with a property: its path, such as "cwd" or "env[2].name", and a reason. It quotes no value, which
// may be secret.
type FieldError struct{ Field, Reason string }

// Object reads a JSON object property by property. Names are compared letter by letter, and the last of two
// equal ones counts: encoding/json would take "Command" for "command", and would leave the elements of
// a first "env" in the gaps of a second.
type Object struct {
	path string       // where the object is: "", or "env[2]"
	data []byte       // valid JSON; nil if it was not
	err  **FieldError // the first thing that is wrong with the outermost object
}

// ReadObject returns an object's reader.
func ReadObject(data []byte) *Object { return newObject("", data, new(*FieldError)) }

// Child returns the reader of an object inside of this one, such as "env[2]". What is wrong with it is wrong with this one.
func (o *Object) Child(path string, data []byte) *Object { return newObject(path, data, o.err) }

func newObject(path string, data []byte, err **FieldError) *Object {
	o := &Object{path: path, err: err}
	switch trimmed := bytes.TrimLeft(data, " \t\r\n"); {
	case len(trimmed) == 0 || trimmed[0] != '{':
		o.report(cmp.Or(path, "params"), "must be an object")
	case !json.Valid(trimmed):
		o.report(cmp.Or(path, "params"), "not valid JSON")
	default:
		o.data = trimmed
	}
	return o
}

// Err returns the first thing that is wrong, nil if nothing is.
func (o *Object) Err() *FieldError { return *o.err }

// Get returns a property's value, nil if it is not there.
func (o *Object) Get(name string) (value json.RawMessage) {
	if o.data == nil {
		return nil
	}
	for n, at := range eachMember(o.data) {
		if string(n) == name {
			value = o.data[at.from:at.to]
		}
	}
	return value
}

// Read decodes a property and reports whether it is there; null counts as absent. want says what it must be, for the error.
func (o *Object) Read(name string, into any, want string) bool {
	value := o.Get(name)
	if value == nil || string(value) == "null" {
		return false
	}
	if json.Unmarshal(value, into) != nil {
		o.Fail(name, "must be "+want)
	}
	return true
}

// RequireString returns a property that has to be a string.
func (o *Object) RequireString(name string) (text string) {
	value := o.Get(name)
	if value == nil || string(value) == "null" {
		o.Fail(name, "required")
		return ""
	}
	text, ok := stringOf(value)
	if !ok {
		o.Fail(name, "must be a string")
	}
	return text
}

// Fail says that something is wrong with a property.
func (o *Object) Fail(name, reason string) {
	if o.path != "" {
		name = o.path + "." + name
	}
	o.report(name, reason)
}

func (o *Object) report(field, reason string) {
	if *o.err == nil {
		*o.err = &FieldError{field, reason}
	}
}
