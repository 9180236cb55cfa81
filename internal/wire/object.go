package wire

// Strict reading of JSON objects. An error names the missing or mistyped property.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"unicode/utf8"
)

// FieldError describes the problem with a property, such as "cwd" or "env[2].name", without the value.
type FieldError struct{ Field, Reason string }

// Object reads a JSON object property by property, and keeps the first error. It compares names exactly, and the last
// of several equal ones counts: encoding/json would accept "Command" for "command", and mix two "env" arrays.
type Object struct {
	path   string      // location of the object: "", or "env[2]"
	data   []byte      // valid JSON; nil if the input was invalid
	parent *Object     // also gets the errors of this object; nil for the outermost
	err    *FieldError // the first error
}

// ReadObject reads the params of a request.
func ReadObject(data []byte) *Object { return (*Object)(nil).Child("", data) }

// Child reads an object inside this one, such as "env[2]". Its errors are also errors of this one.
func (o *Object) Child(path string, data []byte) *Object {
	o = &Object{path: path, parent: o}
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

// Err returns the first error, or nil.
func (o *Object) Err() *FieldError { return o.err }

// Get returns a property's value, or nil if it is absent.
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

// Read decodes a property and reports whether it is present; null counts as absent. An error names the type wanted.
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

// RequireString returns a required string.
func (o *Object) RequireString(name string) (text string) {
	if !o.Read(name, &text, "a string") {
		o.Fail(name, "required")
	}
	return text
}

// Strings decodes an array of strings, up to the first error.
func (o *Object) Strings(name string) (texts []string) {
	var items []json.RawMessage
	o.Read(name, &items, "an array")
	for i, item := range items {
		var text *string
		if json.Unmarshal(item, &text) != nil || text == nil {
			o.Fail(fmt.Sprintf("%s[%d]", name, i), "must be a string")
			break
		}
		texts = append(texts, *text)
	}
	return texts
}

// Children iterates over the objects of an array, up to the first error.
func (o *Object) Children(name string) iter.Seq[*Object] {
	var items []json.RawMessage
	o.Read(name, &items, "an array")
	return func(yield func(*Object) bool) {
		for i, item := range items {
			if o.Err() != nil || !yield(o.Child(fmt.Sprintf("%s[%d]", name, i), item)) {
				return
			}
		}
	}
}

// Fail adds an error about a property.
func (o *Object) Fail(name, reason string) {
	if o.path != "" {
		name = o.path + "." + name
	}
	o.report(name, reason)
}

func (o *Object) report(field, reason string) {
	for ; o != nil; o = o.parent {
		if o.err == nil {
			o.err = &FieldError{field, reason}
		}
	}
}

// span is the position of a member's value. It is zero if the member is absent.
type span struct{ from, to int }

// eachMember iterates over the members of an object. data is valid JSON and begins with "{".
func eachMember(data []byte) iter.Seq2[[]byte, span] {
	return func(yield func([]byte, span) bool) {
		for at := 1; ; at++ { // data[at] is after "{" or ","
			at += skipSpace(data[at:])
			if data[at] == '}' {
				return
			}
			end := at + skipString(data[at:])
			name := data[at+1 : end-1]
			if bytes.IndexByte(name, '\\') >= 0 {
				text, _ := stringOf(data[at:end])
				name = []byte(text)
			}
			at = end + skipSpace(data[end:]) + 1 // ":"
			at += skipSpace(data[at:])
			end = at + skipValue(data[at:])
			if !yield(name, span{at, end}) {
				return
			}
			at = end + skipSpace(data[end:])
			if data[at] == '}' {
				return
			}
		}
	}
}

// stringOf returns the text of a JSON string as encoding/json decodes it. ok is false if the value is not a string.
func stringOf(value []byte) (text string, ok bool) {
	if len(value) == 0 || value[0] != '"' {
		return "", false
	}
	if inside := value[1 : len(value)-1]; bytes.IndexByte(inside, '\\') < 0 && utf8.Valid(inside) {
		return string(inside), true
	}
	var decoded string // not text, which would escape to the heap in the case above too
	err := json.Unmarshal(value, &decoded)
	return decoded, err == nil
}

// The skip functions return the length of the space, string or value at the beginning of valid JSON.

func skipSpace(data []byte) int {
	n := 0
	for n < len(data) && (data[n] == ' ' || data[n] == '\t' || data[n] == '\r' || data[n] == '\n') {
		n++
	}
	return n
}

func skipString(data []byte) int {
	for n := 1; ; n++ {
		switch data[n] {
		case '\\':
			n++
		case '"':
			return n + 1
		}
	}
}

func skipValue(data []byte) int {
	depth := 0
	for n := 0; ; n++ {
		switch data[n] {
		case '"':
			n += skipString(data[n:]) - 1
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		default:
			if depth == 0 {
				return n + bytes.IndexAny(data[n:], ",}] \t\r\n")
			}
			continue
		}
		if depth == 0 {
			return n + 1
		}
	}
}
