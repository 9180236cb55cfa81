package acpterm

// Reading the params of requests strictly: a field is there or not, has its type or not, and what is wrong is
// said by the field's name.

import (
	"bytes"
	"cmp"
	"encoding/json"
)

// parseTerminalParams reads the session and terminal of an output, wait, kill or release request.
func parseTerminalParams(data []byte) (session SessionID, terminal TerminalID, err error) {
	o := readObject("", data)
	session = SessionID(o.requireString("sessionId"))
	terminal = TerminalID(o.requireString("terminalId"))
	if o.err != nil {
		return "", "", o.err
	}
	return session, terminal, nil
}

// object reads a JSON object property by property. Names count letter by letter, and the last of two
// equal ones holds: encoding/json would take "Command" for "command", and would leave the elements of
// a first "env" in the gaps of a second. err is the first thing that was wrong; it never quotes a
// value, which may be a secret of the environment.
type object struct {
	path string // where the object is: "", or "env[2]"
	data []byte // valid JSON; nil if it was not
	err  error
}

func readObject(path string, data []byte) *object {
	o := &object{path: path}
	switch trimmed := bytes.TrimLeft(data, " \t\r\n"); {
	case len(trimmed) == 0 || trimmed[0] != '{':
		o.err = invalidField(cmp.Or(path, "params"), "must be an object")
	case !json.Valid(trimmed):
		o.err = invalidField(cmp.Or(path, "params"), "not valid JSON")
	default:
		o.data = trimmed
	}
	return o
}

// get returns a property's value, nil if it is not there.
func (o *object) get(name string) (value json.RawMessage) {
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

// read fills in a property and reports whether it is there; null counts as absent.
func (o *object) read(name string, into any, want string) bool {
	value := o.get(name)
	if value == nil || string(value) == "null" {
		return false
	}
	if json.Unmarshal(value, into) != nil {
		o.fail(name, "must be "+want)
	}
	return true
}

// requireString returns a property that has to be a string.
func (o *object) requireString(name string) (text string) {
	value := o.get(name)
	if value == nil || string(value) == "null" {
		o.fail(name, "required")
		return ""
	}
	text, ok := stringOf(value)
	if !ok {
		o.fail(name, "must be a string")
	}
	return text
}

func (o *object) fail(name, reason string) {
	if o.path != "" {
		name = o.path + "." + name
	}
	if o.err == nil {
		o.err = invalidField(name, reason)
	}
}
