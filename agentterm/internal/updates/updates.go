// Package updates reads the updates of an agent's own terminals from session/update notifications: ACP v2's
// terminal_update and terminal_output_chunk, and the _meta convention of agents on v1. The agent runs the commands of
// these terminals itself. The package also finds the terminals in tool calls, the tool calls that can be cancelled, and
// the work in the background. It imports only the standard library and
// is stateless; its caller keeps the terminals and applies the updates.
package updates

import (
	"encoding/json"
	"math"
)

// Update is an update of one terminal, read from a notification.
type Update struct {
	Terminal string
	// V1 is set for updates by the convention of v1. Known is set if the update only counts for a terminal already
	// known by that convention.
	V1, Known bool
	// Info is set if v1's terminal_info announced the terminal. Final is set if the tool call is complete, which ends
	// an unannounced terminal.
	Info, Final bool

	// Command is the command for display, and Dir its working directory.
	Command, Dir Patch[string]
	// Output replaces the whole output.
	Output Patch[[]byte]
	// Append is further output, or nil. Delta is set if it is from v1's terminal_output_delta.
	Append []byte
	Delta  bool
	// Whole is v1's terminal_output, or nil: either a piece of the output or all of it. It can only be all of it if it
	// comes with the end (Last), or if pieces come as terminal_output_delta.
	Whole []byte
	Last  bool
	// Exit is set if the command has ended.
	Exit Patch[Exit]
	Size Patch[Size]
	// Cancel reports whether the agent serves terminal/cancel for the terminal. Null means false.
	Cancel Patch[bool]
	// Meta holds changed keys of _meta. A key with the JSON value null is removed. A null _meta removes all keys.
	Meta Patch[map[string]json.RawMessage]
}

// Patch is a member of a JSON object that changes a value. The zero Patch is an absent member and changes nothing.
type Patch[T any] struct {
	Present bool
	Value   *T // nil for null, which clears the value
}

// Set returns a Patch that replaces the value.
func Set[T any](value T) Patch[T] { return Patch[T]{Present: true, Value: &value} }

// Exit is the exit status of a command, with nil for unknown parts.
type Exit struct {
	Code   *int64
	Signal *string
}

// Size is a terminal's size in characters.
type Size struct{ Columns, Rows uint16 }

// Error reports a malformed update. None of its members count.
type Error struct {
	Field, Reason string
}

func (e *Error) Error() string { return e.Field + ": " + e.Reason }

// Notification is a session/update. Terminals, ToolCall and Background are nil if it is about something else.
type Notification struct {
	Session    string
	Terminals  []Update // several if v1's _meta updates several terminals; apply them in order
	ToolCall   *ToolCall
	Background *[]Work // all of the session's work
}

// Read reads the params of a session/update.
func Read(params []byte) (n Notification, err error) {
	envelope := readObject(params)
	update := readObject(envelope["update"])
	kind := update.text("sessionUpdate")
	if kind == nil {
		return n, nil
	}
	switch *kind {
	case "terminal_update":
		n.Terminals, err = one(readUpdate(update))
	case "terminal_output_chunk":
		n.Terminals, err = one(readChunk(update))
	case "tool_call", "tool_call_update":
		n.Terminals, n.ToolCall = readToolCall(update), readCancel(update)
	case "state_update":
		n.Background = readBackground(update)
	}
	if id := envelope.text("sessionId"); id != nil {
		n.Session = *id
	}
	return n, err
}

func one(u Update, err error) ([]Update, error) {
	if err != nil {
		return nil, err
	}
	return []Update{u}, nil
}

// readUpdate reads v2's terminal_update (schema type TerminalUpdate). Members with a type other than the schema's count
// as absent, as x-deserialize-default-on-error asks. An update with invalid base64 output is refused, since the schema
// does not specify this case.
func readUpdate(m object) (u Update, err error) {
	if u.Terminal, err = terminalID(m["terminalId"]); err != nil {
		return u, err
	}
	u.Command = patch[string](m["command"])
	u.Dir = patch[string](m["cwd"])
	u.Meta = patch[map[string]json.RawMessage](m["_meta"])
	if u.Output, err = outputPatch(m["output"]); err != nil {
		return u, err
	}
	u.Exit = exitPatch(m["exitStatus"])
	u.Size = sizePatch(m["size"])
	u.Cancel = cancelPatch(m["capabilities"])
	return u, nil
}

// readChunk reads v2's terminal_output_chunk (schema type TerminalOutputChunk).
func readChunk(m object) (u Update, err error) {
	if u.Terminal, err = terminalID(m["terminalId"]); err != nil {
		return u, err
	}
	u.Append, err = decode("data", m["data"])
	return u, err
}

func terminalID(raw json.RawMessage) (id string, err error) {
	if json.Unmarshal(raw, &id) != nil || id == "" {
		return "", &Error{"terminalId", "must be a string that is not empty"}
	}
	return id, nil
}

func decode(field string, raw json.RawMessage) ([]byte, error) {
	var data []byte // encoding/json decodes it from base64
	if raw == nil || isNull(raw) || json.Unmarshal(raw, &data) != nil || raw[0] != '"' {
		return nil, &Error{field, "must be base64"}
	}
	return data, nil
}

func isNull(raw json.RawMessage) bool { return string(raw) == "null" }

// patch reads a member of type T; a value of another type counts as absent.
func patch[T any](raw json.RawMessage) Patch[T] {
	switch {
	case raw == nil:
		return Patch[T]{}
	case isNull(raw):
		return Patch[T]{Present: true}
	}
	var value T
	if json.Unmarshal(raw, &value) != nil {
		return Patch[T]{}
	}
	return Set(value)
}

func outputPatch(raw json.RawMessage) (Patch[[]byte], error) {
	output := patch[object](raw)
	if output.Value == nil {
		return Patch[[]byte]{Present: output.Present}, nil
	}
	if output.Value.text("data") == nil {
		return Patch[[]byte]{}, nil
	}
	data, err := decode("output.data", (*output.Value)["data"])
	return Set(data), err
}

func exitPatch(raw json.RawMessage) Patch[Exit] {
	m := patch[object](raw)
	if m.Value == nil {
		return Patch[Exit]{Present: m.Present}
	}
	return Set(Exit{
		Code:   integer((*m.Value)["exitCode"]),
		Signal: patch[string]((*m.Value)["signal"]).Value,
	})
}

func sizePatch(raw json.RawMessage) Patch[Size] {
	m := patch[object](raw)
	if m.Value == nil {
		return Patch[Size]{Present: m.Present}
	}
	columns, rows := integer((*m.Value)["cols"]), integer((*m.Value)["rows"])
	for _, n := range []*int64{columns, rows} {
		if n == nil || *n < 1 || *n > math.MaxUint16 {
			return Patch[Size]{}
		}
	}
	return Set(Size{uint16(*columns), uint16(*rows)})
}

// integer reads a whole number, or returns nil for other values. JSON may also write it as 3.0 or 1e2.
func integer(raw json.RawMessage) *int64 {
	if n := patch[int64](raw).Value; n != nil {
		return n
	}
	const exact = 1 << 53 // floating-point numbers represent whole numbers up to this one exactly
	f := patch[float64](raw).Value
	if f == nil || *f != math.Trunc(*f) || math.Abs(*f) > exact {
		return nil
	}
	return new(int64(*f))
}

// cancelPatch reads v2's capabilities (schema type TerminalCapabilities). An invalid value counts as absent: the client
// must not send an unadvertised terminal/cancel.
func cancelPatch(raw json.RawMessage) Patch[bool] {
	if raw == nil {
		return Patch[bool]{}
	}
	return Set(patch[object](readObject(raw)["cancel"]).Value != nil)
}
