package acpterm

// The wire types, which match field for field the terminal part of the published ACP v1 schema (schema/v1/schema.json,
// whose part about terminals is in internal/conformance/testdata/schema). Where a type has rules that encoding/json
// cannot express (required fields, null for absent), its UnmarshalJSON checks them and names the invalid field.

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

// A SessionID identifies a session, that is, a conversation between a client and an agent (schema type SessionId). The
// agent chooses it in session/new.
type SessionID string

// A TerminalID identifies a terminal (schema type TerminalId). The Manager generates it as "term_" followed by a ULID.
type TerminalID string

// Meta is the _meta object that ACP reserves for extensions (see its Extensibility page). Values are preserved as
// received. Any value other than an object is ignored, as required by x-deserialize-default-on-error in the schema.
type Meta map[string]json.RawMessage

// size returns roughly how many bytes of memory the metadata takes.
func (m Meta) size() (size int64) {
	const entry = 100 // bytes of a key and its value without their text
	for name, value := range m {
		size += entry + int64(len(name)+len(value))
	}
	return size
}

// UnmarshalJSON implements json.Unmarshaler. If data is not an object, it sets m to nil.
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

// EnvVariable is an environment variable to set for a command (schema type EnvVariable).
type EnvVariable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Meta  Meta   `json:"_meta,omitempty"`
}

// CreateTerminalRequest represents a request to run a command in a new terminal (schema type CreateTerminalRequest).
// SessionID and Command are required.
type CreateTerminalRequest struct {
	SessionID SessionID `json:"sessionId"`
	// Command specifies a program by its name or path, or a shell line (see ShellMode).
	Command string        `json:"command"`
	Args    []string      `json:"args,omitempty"`
	Env     []EnvVariable `json:"env,omitempty"`
	// Cwd specifies the working directory as an absolute path. If empty, CommandOptions.Dir is used.
	Cwd string `json:"cwd,omitempty"`
	// OutputByteLimit is the maximum number of bytes of output to keep. If nil, the limit is set by CommandOptions.
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

// CreateTerminalResponse is the response to terminal/create (schema type CreateTerminalResponse).
type CreateTerminalResponse struct {
	TerminalID TerminalID `json:"terminalId"`
	Meta       Meta       `json:"_meta,omitempty"`
}

// TerminalRequest represents a request to read, wait for, kill or release a terminal. Its fields are common to the
// schema types TerminalOutputRequest, WaitForTerminalExitRequest, KillTerminalRequest and ReleaseTerminalRequest.
type TerminalRequest struct {
	SessionID  SessionID  `json:"sessionId"`
	TerminalID TerminalID `json:"terminalId"`
	Meta       Meta       `json:"_meta,omitempty"`
}

// TerminalOutputResponse contains the current output of a terminal, along with its exit status if the command has
// exited (schema type TerminalOutputResponse).
type TerminalOutputResponse struct {
	// Output is the most recent output, up to the terminal's limit in bytes. It is valid UTF-8 that does not start or
	// end in the middle of a character.
	Output string `json:"output"`
	// Truncated indicates that the beginning of the output is missing from Output.
	Truncated bool `json:"truncated"`
	// ExitStatus is nil while the command is running.
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

// TerminalExitStatus represents the exit status of a command and the response to terminal/wait_for_exit (schema types
// TerminalExitStatus and WaitForTerminalExitResponse). Exactly one of ExitCode and Signal is non-nil, unless the
// terminal is attached and its owner knows neither.
type TerminalExitStatus struct {
	// ExitCode is the command's exit code, or nil (null in JSON) if a signal terminated the command.
	ExitCode *uint32 `json:"exitCode"`
	// Signal is the POSIX name of the signal that terminated the command, such as "SIGTERM", or nil if the command
	// exited. On Windows, it is the signal specified when killing the command.
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

// Success reports whether the command exited with code 0.
func (s TerminalExitStatus) Success() bool { return s.ExitCode != nil && *s.ExitCode == 0 }

// String returns the exit status in human-readable form, such as "exit code 1", "signal SIGTERM" or "not known".
func (s TerminalExitStatus) String() string {
	switch {
	case s.Signal != nil:
		return "signal " + *s.Signal
	case s.ExitCode != nil:
		return fmt.Sprintf("exit code %d", *s.ExitCode)
	}
	return "not known"
}

// EmptyResponse represents the response to terminal/kill or terminal/release (schema types KillTerminalResponse and
// ReleaseTerminalResponse).
type EmptyResponse struct {
	Meta Meta `json:"_meta,omitempty"`
}

// UnmarshalJSON parses and validates a request. As required by the schema, it rejects null elements in args and env,
// and missing or null values for required fields. Errors are of type *Error, with kind ErrInvalidParams and Field set.
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
