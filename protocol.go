package acpterm

// The wire types: field for field the terminal part of the published ACP v1 schema (schema/v1/schema.json; its part
// about terminals is in internal/conformance/testdata/schema). Where a type has rules that encoding/json cannot express
// (required fields, null for absent), its UnmarshalJSON checks them and names the wrong field.

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/acpterm/acpterm/internal/wire"
)

// The methods of the terminal capability (https://agentclientprotocol.com/protocol/v1/terminals)
// and the notification that cancels a pending request.
const (
	MethodCreate        = "terminal/create"
	MethodOutput        = "terminal/output"
	MethodWaitForExit   = "terminal/wait_for_exit"
	MethodKill          = "terminal/kill"
	MethodRelease       = "terminal/release"
	MethodCancelRequest = "$/cancel_request"
)

// SessionID names a conversation between a client and an agent (schema type SessionId). An agent generates it in
// session/new.
type SessionID string

// TerminalID names a terminal (schema type TerminalId). A Manager generates it: "term_" and a ULID.
type TerminalID string

// Meta is the _meta object that ACP reserves for extensions (Extensibility page). Values are kept
// unchanged. Anything but an object is dropped, as the schema's x-deserialize-default-on-error asks.
type Meta map[string]json.RawMessage

// size returns roughly how many bytes of memory the metadata takes.
func (m Meta) size() (size int64) {
	const entry = 100 // bytes of a key and its value without their text
	for name, value := range m {
		size += entry + int64(len(name)+len(value))
	}
	return size
}

// UnmarshalJSON reads an object and takes anything else for an absent one.
func (m *Meta) UnmarshalJSON(data []byte) error {
	*m = nil
	var object map[string]json.RawMessage
	if json.Unmarshal(data, &object) == nil {
		*m = object
	}
	return nil
}

func (m Meta) clone() Meta {
	m = maps.Clone(m)
	for name, value := range m {
		m[name] = slices.Clone(value)
	}
	return m
}

// EnvVariable is one variable of a command's environment (schema type EnvVariable).
type EnvVariable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Meta  Meta   `json:"_meta,omitempty"`
}

// CreateTerminalRequest asks for a command in a new terminal (schema type CreateTerminalRequest). SessionID and Command
// are required.
type CreateTerminalRequest struct {
	SessionID SessionID `json:"sessionId"`
	// Command is the name or path of a program, or a shell line (see ShellMode).
	Command string        `json:"command"`
	Args    []string      `json:"args,omitempty"`
	Env     []EnvVariable `json:"env,omitempty"`
	// Cwd is an absolute path. The default is CommandOptions.Dir.
	Cwd string `json:"cwd,omitempty"`
	// OutputByteLimit is how many bytes of output are kept. If nil, it is CommandOptions.OutputByteLimit.
	OutputByteLimit *uint64 `json:"outputByteLimit,omitempty"`
	Meta            Meta    `json:"_meta,omitempty"`
}

// headBytes is how many of the first bytes of the output the request asks for. Its errors are *Error of kind
// ErrInvalidParams.
func (r *CreateTerminalRequest) headBytes() (bytes int64, err error) {
	asked := r.Meta["acpterm"]
	if asked == nil || string(asked) == "null" {
		return 0, nil
	}
	var n uint64
	o := new(wire.Object).Child("_meta.acpterm", asked)
	o.Read("headBytes", &n, "an integer from 0 to 18446744073709551615")
	if err := o.Err(); err != nil {
		return 0, invalidParams(err)
	}
	return int64(min(n, maxKept)), nil
}

// clone returns a copy that shares nothing with r.
func (r CreateTerminalRequest) clone() CreateTerminalRequest {
	r.Args, r.Env, r.Meta = slices.Clone(r.Args), slices.Clone(r.Env), r.Meta.clone()
	for i, v := range r.Env {
		r.Env[i].Meta = v.Meta.clone()
	}
	if limit := r.OutputByteLimit; limit != nil {
		r.OutputByteLimit = new(*limit)
	}
	return r
}

// CreateTerminalResponse answers terminal/create (schema type CreateTerminalResponse).
type CreateTerminalResponse struct {
	TerminalID TerminalID `json:"terminalId"`
	Meta       Meta       `json:"_meta,omitempty"`
}

// TerminalRequest asks for a terminal's output, its end, a kill or its release. The schema has a type with the same
// fields for each: TerminalOutputRequest, WaitForTerminalExitRequest, KillTerminalRequest and ReleaseTerminalRequest.
type TerminalRequest struct {
	SessionID  SessionID  `json:"sessionId"`
	TerminalID TerminalID `json:"terminalId"`
	Meta       Meta       `json:"_meta,omitempty"`
}

// TerminalOutputResponse is the output so far and, once the command has ended, its exit status (schema type
// TerminalOutputResponse).
type TerminalOutputResponse struct {
	// Output is the longest suffix of the output so far, in valid UTF-8 and whole characters, within the terminal's
	// limit in bytes.
	Output string `json:"output"`
	// Truncated indicates that Output does not begin at the beginning of the output.
	Truncated bool `json:"truncated"`
	// ExitStatus is nil while the command runs.
	ExitStatus *TerminalExitStatus `json:"exitStatus,omitempty"`
	Meta       Meta                `json:"_meta,omitempty"`
}

// outputHead is the beginning of the output, in the _meta of a TerminalOutputResponse: an extension. Package agent has
// the agent's side.
type outputHead struct {
	Text        string `json:"head"`
	End         int64  `json:"headEnd"`
	OutputStart int64  `json:"outputStart"` // the offset of TerminalOutputResponse.Output
}

// TerminalExitStatus is the exit status of a command, and the answer to terminal/wait_for_exit (schema types
// TerminalExitStatus and WaitForTerminalExitResponse). Exactly one of ExitCode and Signal is set, except for an
// attached terminal whose owner knows neither.
type TerminalExitStatus struct {
	// ExitCode is null on the wire if a signal ended the command.
	ExitCode *uint32 `json:"exitCode"`
	// Signal is a POSIX name such as "SIGTERM", and null on the wire if the command exited. On Windows it is the signal
	// of the kill that ended the command.
	Signal *string `json:"signal"`
	Meta   Meta    `json:"_meta,omitempty"`
}

// clone returns a copy that shares nothing with s.
func (s TerminalExitStatus) clone() TerminalExitStatus {
	if s.ExitCode != nil {
		s.ExitCode = new(*s.ExitCode)
	}
	if s.Signal != nil {
		s.Signal = new(*s.Signal)
	}
	s.Meta = s.Meta.clone()
	return s
}

// Success reports whether the exit code is 0.
func (s TerminalExitStatus) Success() bool { return s.ExitCode != nil && *s.ExitCode == 0 }

// String returns "exit code 1", "signal SIGTERM" or "not known".
func (s TerminalExitStatus) String() string {
	switch {
	case s.Signal != nil:
		return "signal " + *s.Signal
	case s.ExitCode != nil:
		return fmt.Sprintf("exit code %d", *s.ExitCode)
	}
	return "not known"
}

// EmptyResponse answers terminal/kill and terminal/release (schema types KillTerminalResponse and
// ReleaseTerminalResponse).
type EmptyResponse struct {
	Meta Meta `json:"_meta,omitempty"`
}

// UnmarshalJSON reads a request. It refuses absent or null required fields, and null elements of args or env,
// as the schema does. Its errors are *Error of kind ErrInvalidParams and name the field.
func (r *CreateTerminalRequest) UnmarshalJSON(data []byte) error {
	var req CreateTerminalRequest
	var args, env []json.RawMessage
	o := wire.ReadObject(data)
	req.SessionID = SessionID(o.RequireString("sessionId"))
	req.Command = o.RequireString("command")
	o.Read("args", &args, "an array")
	o.Read("env", &env, "an array")
	if o.Read("cwd", &req.Cwd, "a string") && req.Cwd == "" {
		o.Fail("cwd", "must be an absolute path")
	}
	o.Read("outputByteLimit", &req.OutputByteLimit, "an integer from 0 to 18446744073709551615")
	o.Read("_meta", &req.Meta, "an object")
	for i, arg := range args {
		var text *string
		if json.Unmarshal(arg, &text) != nil || text == nil {
			o.Fail(fmt.Sprintf("args[%d]", i), "must be a string")
			break
		}
		req.Args = append(req.Args, *text)
	}
	for i, item := range env {
		var v EnvVariable
		e := o.Child(fmt.Sprintf("env[%d]", i), item)
		v.Name = e.RequireString("name")
		v.Value = e.RequireString("value")
		e.Read("_meta", &v.Meta, "an object")
		if o.Err() != nil {
			break
		}
		req.Env = append(req.Env, v)
	}
	if err := o.Err(); err != nil {
		return invalidParams(err)
	}
	*r = req
	return nil
}

// parseTerminalParams reads the session and terminal of an output, wait, kill or release request.
func parseTerminalParams(data []byte) (session SessionID, terminal TerminalID, err error) {
	o := wire.ReadObject(data)
	session = SessionID(o.RequireString("sessionId"))
	terminal = TerminalID(o.RequireString("terminalId"))
	if err := o.Err(); err != nil {
		return "", "", invalidParams(err)
	}
	return session, terminal, nil
}

// invalidParams is an error of the params' reader as one of this package.
func invalidParams(err *wire.FieldError) *Error { return invalidField(err.Field, err.Reason) }
