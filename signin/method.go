package signin

// Reading of authMethods in the response to initialize (https://agentclientprotocol.com/protocol/v1/authentication):
// ways to sign in, where the client runs the agent's program in a terminal.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/lookup"
	"github.com/acpterm/acpterm/internal/wire"
)

// CodeRequired is the error code that an agent returns if the user must sign in before a request can be processed
// (schema type ErrorCode).
const CodeRequired = -32000

// A Method describes a way to sign in that runs the agent's program in a terminal, where the user responds to its
// prompts (schema type AuthMethodTerminal). The ID of a Method must not be passed to authenticate or auth/login. Since
// all of the text is supplied by the agent, use package display to show ID, Name and Description.
type Method struct {
	// ID identifies the method. It is unique and never empty.
	ID string
	// Name and Description are meant to be shown to the user. Either may be empty.
	Name, Description string
	// Args holds arguments to append to those used to start the agent.
	Args []string
	// Env specifies variables that override the ones used to start the agent. No two variables have the same name.
	//
	// On the wire of v1, and in _meta, env is an object, {"NAME":"value"}. In v2, it is a list of names and values,
	// [{"name":"NAME","value":"value"}]. The other form is malformed.
	Env []acpterm.EnvVariable
	// LegacyCommand, if non-nil, is an arbitrary command line to run instead of the agent's program. In that case, Args
	// is nil. It is set for agents that follow the earlier convention of _meta["terminal-auth"]. Methods of type
	// "terminal" cannot specify a program, so LegacyCommand is always nil for these methods.
	LegacyCommand []string
}

// Limits of methods, which ReadMethods documents. Those of real agents have less than 1 KiB.
const (
	maxMethods     = 64
	maxMethodsSize = 1 << 20  // of the JSON of all
	maxMethodSize  = 64 << 10 // of the JSON of one
)

const nul = "\x00"

// shape describes a method in a version of the protocol.
type shape struct {
	id     string // the name of the member with the method's ID
	env    func(*wire.Object) []acpterm.EnvVariable
	legacy bool // a method without the type for terminals may have a program in _meta
}

// shapes maps versions to their shapes.
var shapes = map[uint16]shape{
	1: {id: "id", env: readEnvObject, legacy: true},
	2: {id: "methodId", env: readEnvArray},
}

// ReadMethods returns the methods that run in a terminal, given the result of an initialize request of ACP v1 or v2.
// Methods of other types are skipped.
//
// Malformed methods are skipped as well, as required by the schema. If there are any, ReadMethods returns the other
// methods along with an *acpterm.Error of kind ErrInvalidParams, whose Field names the first malformed method, such as
// "authMethods[1].env". Methods longer than 64 KiB, as JSON, count as malformed.
//
// The agent is not trusted, so ReadMethods reads only the first 64 elements of authMethods, of any type, and only the
// first MiB. If there are more, it returns the methods found there along with such an error, whose Field is
// "authMethods".
//
// If the version is neither 1 nor 2, or if authMethods is not an array, ReadMethods returns an error and no methods.
func ReadMethods(initializeResult []byte) ([]Method, error) {
	result := wire.ReadObject(initializeResult)
	if err := result.Err(); err != nil {
		return nil, invalidField("result", err.Reason)
	}
	var version uint16
	result.Read("protocolVersion", &version, "1 or 2")
	shape, known := shapes[version]
	if !known {
		return nil, invalidField("protocolVersion", "must be 1 or 2")
	}
	all := result.Get("authMethods")
	switch {
	case all == nil || string(all) == "null":
		return nil, nil
	case all[0] != '[':
		return nil, invalidField("authMethods", "must be an array")
	}
	return shape.readAll(all)
}

// readAll reads the well-formed methods of an array, which is valid JSON. The error names the first malformed one, or
// the array if methods are left out because there are too many.
func (s shape) readAll(all []byte) (methods []Method, err error) {
	ids := make(map[string]bool)
	items := json.NewDecoder(bytes.NewReader(all)) // not into a slice, which would take several times as much memory
	items.Token()
	for i := 0; items.More(); i++ {
		if i == maxMethods {
			return methods, invalidField("authMethods", fmt.Sprintf("more than %d; the rest is left out", maxMethods))
		}
		var item json.RawMessage
		items.Decode(&item)
		if items.InputOffset() > maxMethodsSize {
			return methods, invalidField("authMethods", "longer than 1 MiB; the rest is left out")
		}
		m, wrong := s.read(item)
		switch {
		case m != nil && ids[m.ID]:
			wrong = &wire.FieldError{Field: s.id, Reason: "is that of a method before"}
		case m != nil:
			ids[m.ID] = true
			methods = append(methods, *m)
		}
		if wrong != nil && err == nil {
			field := fmt.Sprintf("authMethods[%d]", i)
			if wrong.Field != "" {
				field += "." + wrong.Field
			}
			err = invalidField(field, wrong.Reason)
		}
	}
	return methods, err
}

// read reads one method. For a method of another type it returns neither a method nor an error.
func (s shape) read(item []byte) (*Method, *wire.FieldError) {
	o := wire.ReadObject(item)
	var kind string
	typed := o.Read("type", &kind, "a string")
	if o.Err() != nil {
		return nil, nil
	}
	m := &Method{ID: o.RequireString(s.id), Name: o.RequireString("name")}
	json.Unmarshal(o.Get("description"), &m.Description) // a value of another type counts as absent, as the schema says
	switch {
	case kind == "terminal":
		m.Args, m.Env = readArgs(o), s.env(o)
	case s.legacy && (!typed || kind == "agent"):
		m.readLegacy(o)
	default:
		return nil, nil
	}
	if m.ID == "" {
		o.Fail(s.id, "must not be empty")
	}
	err := o.Err()
	switch {
	case err == nil && len(item) > maxMethodSize:
		return nil, &wire.FieldError{Reason: "longer than 64 KiB"}
	case err == nil:
		return m, nil
	case kind == "terminal":
		return nil, err
	}
	return nil, nil // _meta may be anything, so a method without the type is well-formed
}

// readLegacy reads the form in _meta: a program with its arguments and environment.
func (m *Method) readLegacy(o *wire.Object) {
	meta := o.Child("_meta", o.Get("_meta"))
	launch := o.Child("_meta.terminal-auth", meta.Get("terminal-auth"))
	command := launch.RequireString("command")
	if command == "" || strings.Contains(command, nul) {
		launch.Fail("command", "must not be empty, nor contain NUL")
	}
	m.LegacyCommand = append([]string{command}, readArgs(launch)...)
	m.Env = readEnvObject(launch)
}

// readArgs reads the member args, which may be absent or null.
func readArgs(o *wire.Object) (args []string) {
	var items []json.RawMessage
	o.Read("args", &items, "an array")
	for i, item := range items {
		var text *string
		switch {
		case json.Unmarshal(item, &text) != nil || text == nil:
			o.Fail(fmt.Sprintf("args[%d]", i), "must be a string")
			return nil
		case strings.Contains(*text, nul):
			o.Fail(fmt.Sprintf("args[%d]", i), "must not contain NUL")
			return nil
		}
		args = append(args, *text)
	}
	return args
}

// readEnvObject reads the member env, which may be absent or null, as an object of names and values. Its errors do not
// name the variable.
func readEnvObject(o *wire.Object) []acpterm.EnvVariable {
	raw := o.Get("env")
	if raw == nil || string(raw) == "null" {
		return nil
	}
	members := json.NewDecoder(bytes.NewReader(raw)) // not into a map, which hides duplicate names
	if open, _ := members.Token(); open != json.Delim('{') {
		o.Fail("env", "must be an object")
		return nil
	}
	var set variables
	for members.More() {
		name, _ := members.Token()
		var value *string
		if members.Decode(&value) != nil || value == nil {
			o.Fail("env", "a value must be a string")
			return nil
		}
		if reason := set.add(name.(string), *value); reason != "" {
			o.Fail("env", reason)
			return nil
		}
	}
	return set.env
}

// readEnvArray reads the member env, which may be absent or null, as an array of the schema type EnvVariable.
func readEnvArray(o *wire.Object) []acpterm.EnvVariable {
	var items []json.RawMessage
	o.Read("env", &items, "an array")
	var set variables
	for i, item := range items {
		field := fmt.Sprintf("env[%d]", i)
		e := o.Child(field, item)
		reason := set.add(e.RequireString("name"), e.RequireString("value"))
		if e.Err() == nil && reason != "" {
			o.Fail(field, reason)
		}
		if o.Err() != nil {
			return nil
		}
	}
	return set.env
}

// variables is a list of variables with unique names.
type variables struct {
	env   []acpterm.EnvVariable
	names map[string]bool // as the system compares them
}

// add adds a variable, or returns the reason that it cannot.
func (s *variables) add(name, value string) (reason string) {
	key := lookup.Key(name)
	switch {
	case s.names[key]:
		return "a name is there twice"
	case strings.Contains(value, nul):
		return "a value must not contain NUL"
	case name == "" || strings.Contains(name, nul) || strings.Contains(name, "="):
		return `a name must not be empty, nor contain "=" or NUL`
	}
	if s.names == nil {
		s.names = make(map[string]bool)
	}
	s.names[key] = true
	s.env = append(s.env, acpterm.EnvVariable{Name: name, Value: value})
	return ""
}

func invalidField(field, reason string) *acpterm.Error {
	return &acpterm.Error{Kind: acpterm.ErrInvalidParams, Field: field, Reason: reason}
}

// IsRequired reports whether err is a *jsonrpc2.Error with CodeRequired, which indicates that the user must sign in
// first. Note that JSON-RPC uses this code for any server error, so callers may offer to sign in but should not draw
// any other conclusions from the result.
func IsRequired(err error) bool {
	e, ok := errors.AsType[*jsonrpc2.Error](err)
	return ok && e.Code == CodeRequired
}

// CapabilityV2 is the value of capabilities.auth in the initialize request of ACP v2, for clients that support Run. It
// is encoded as {"terminal":{}}. For v1, use acpterm.AuthCapabilities instead.
type CapabilityV2 struct {
	Terminal struct{} `json:"terminal"`
}
