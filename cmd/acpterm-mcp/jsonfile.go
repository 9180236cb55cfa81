package main

// Changes of files in JSON with comments, which keep everything else as it is.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/tailscale/hujson"
)

// setJSON returns a file with the entry at a path of two names. It adds objects that are missing.
func setJSON(file []byte, path []string, entry any) ([]byte, error) {
	text := file
	if len(bytes.TrimSpace(file)) == 0 {
		text = []byte("{\n}\n")
	}
	root, err := hujson.Parse(bytes.Clone(text))
	if err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	wanted, err := asData(entry)
	if err != nil {
		return nil, err
	}
	before, err := dataOf(text)
	if err != nil {
		return nil, err
	}
	top, err := objectOf(&root)
	if err != nil {
		return nil, err
	}
	if reflect.DeepEqual(valueAt(before, path), wanted) {
		return file, nil
	}
	edited, err := setMember(text, top, path, entry, 0)
	if err != nil {
		return nil, err
	}
	after, err := dataOf(edited)
	if err != nil {
		return nil, err
	}
	return edited, onlyDiffer(before, after, path, wanted)
}

// jsonObject is an object in a text.
type jsonObject struct {
	*hujson.Object
	end int // offset of its "}"
}

func objectOf(v *hujson.Value) (jsonObject, error) {
	object, ok := v.Value.(*hujson.Object)
	if !ok {
		return jsonObject{}, errors.New("there is no object where the servers belong")
	}
	return jsonObject{object, v.EndOffset - 1}, nil
}

// member returns the value of a name, or nil. A name may occur only once.
func (o jsonObject) member(name string) (value *hujson.Value, err error) {
	for i := range o.Members {
		if literal, ok := o.Members[i].Name.Value.(hujson.Literal); !ok || literal.String() != name {
			continue
		}
		if value != nil {
			return nil, fmt.Errorf("it has %q twice", name)
		}
		value = &o.Members[i].Value
	}
	return value, nil
}

// setMember sets the member of an object at a path. depth is the number of objects around it.
func setMember(text []byte, o jsonObject, path []string, entry any, depth int) ([]byte, error) {
	value, err := o.member(path[0])
	if err != nil {
		return nil, err
	}
	step := indentOf(text)
	indent := strings.Repeat(step, depth+1)
	switch {
	case value != nil && len(path) > 1:
		inner, err := objectOf(value)
		if err != nil {
			return nil, err
		}
		return setMember(text, inner, path[1:], entry, depth+1)
	case value != nil:
		shown, err := entryJSON(entry, indent, step)
		return splice(text, value.StartOffset, value.EndOffset, shown), err
	}
	for i := len(path) - 1; i > 0; i-- {
		entry = map[string]any{path[i]: entry}
	}
	shown, err := entryJSON(entry, indent, step)
	if err != nil {
		return nil, err
	}
	return addMember(text, o, indent, strings.Repeat(step, depth), fmt.Sprintf("%q: %s", path[0], shown)), nil
}

// addMember adds a member at the end of an object, on lines of its own.
func addMember(text []byte, o jsonObject, indent, outer, member string) []byte {
	at := o.end
	for at > 0 && (text[at-1] == ' ' || text[at-1] == '\t') {
		at--
	}
	onOwnLine := at > 0 && text[at-1] == '\n'
	added := indent + member + "\n"
	if !onOwnLine { // the object ends on the line of its last member
		at = o.end
		added = "\n" + added + outer
	}
	text = splice(text, at, at, added)
	if n := len(o.Members); n > 0 && o.Members[n-1].Value.AfterExtra == nil { // there is no trailing comma
		last := o.Members[n-1].Value.EndOffset
		text = splice(text, last, last, ",")
	}
	return text
}

func splice(text []byte, from, to int, with string) []byte {
	return bytes.Join([][]byte{text[:from], []byte(with), text[to:]}, nil)
}

// indentOf returns the indentation of the first indented line.
func indentOf(text []byte) string {
	for line := range bytes.Lines(text) {
		rest := bytes.TrimLeft(line, " \t")
		if n := len(line) - len(rest); n > 0 && len(bytes.TrimSpace(rest)) > 0 && rest[0] == '"' {
			return string(line[:n])
		}
	}
	return "  "
}

// dataOf decodes JSON with comments.
func dataOf(text []byte) (data any, err error) {
	standard, err := hujson.Standardize(bytes.Clone(text))
	if err != nil {
		return nil, err
	}
	return data, json.Unmarshal(standard, &data)
}

// asData converts a value to what a decoder of JSON returns.
func asData(value any) (data any, err error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return data, json.Unmarshal(text, &data)
}
