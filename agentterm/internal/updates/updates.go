// Package updates reads what session/update notifications say of terminals that the agent owns, whose commands it runs
// itself: ACP v2's terminal_update and terminal_output_chunk, and the _meta convention of agents on v1. It also finds
// the terminals that a tool call shows. It imports the standard library alone and keeps nothing; its caller knows the
// terminals and applies what is read.
package updates

import (
	"encoding/json"
	"math"
)

// Update is what one notification says of one terminal.
type Update struct {
	Terminal string
	// V1 says that it is by the convention of v1, and Known that it counts only for a terminal that is known by it.
	V1, Known bool
	// Info says that v1's terminal_info announced the terminal, and Final that the tool call is complete, which ends a
	// terminal that was not announced.
	Info, Final bool

	// Command is the command as people read it, and Dir its working directory.
	Command, Dir Patch[string]
	// Output is all output there is.
	Output Patch[[]byte]
	// Append is output that follows, and Delta says that it is v1's terminal_output_delta. Nil: none.
	Append []byte
	Delta  bool
	// Whole is v1's terminal_output: a piece or all of the output. It can be all only with the end (Last), or where
	// pieces come as terminal_output_delta. Nil: none.
	Whole []byte
	Last  bool
	// Exit says that the command has ended.
	Exit Patch[Exit]
	Size Patch[Size]
	// Cancel says whether terminal/cancel is served for the terminal. A null is a false.
	Cancel Patch[bool]
	// Meta has keys of _meta that change; a key whose value is JSON's null goes. A null _meta clears all.
	Meta Patch[map[string]json.RawMessage]
}

// Patch is a member of a JSON object that changes a value: the zero Patch is an absent member, which changes nothing.
type Patch[T any] struct {
	Present bool
	Value   *T // nil: null, which clears the value
}

// Set returns a Patch that replaces the value.
func Set[T any](value T) Patch[T] { return Patch[T]{Present: true, Value: &value} }

// Exit is how a command ended, as far as the agent knows.
type Exit struct {
	Code   *int64
	Signal *string
}

// Size is a terminal's size in characters.
type Size struct{ Columns, Rows uint16 }

// Error is an update that cannot be read. Nothing of it counts.
type Error struct {
	Field, Reason string
}

// Error names the field and says what is wrong.
func (e *Error) Error() string { return e.Field + ": " + e.Reason }

// Read reads the params of a session/update. A notification about something else has no updates. What it says of
// several terminals, as v1's _meta can, is in the order in which it holds.
func Read(params []byte) (session string, all []Update, err error) {
	envelope := readObject(params)
	update := readObject(envelope["update"])
	kind := update.text("sessionUpdate")
	if kind == nil {
		return "", nil, nil // it has no terminal
	}
	switch *kind {
	case "terminal_update":
		all, err = one(readUpdate(update))
	case "terminal_output_chunk":
		all, err = one(readChunk(update))
	case "tool_call", "tool_call_update":
		all = readToolCall(update)
	}
	if id := envelope.text("sessionId"); id != nil {
		session = *id
	}
	return session, all, err
}

func one(u Update, err error) ([]Update, error) {
	if err != nil {
		return nil, err
	}
	return []Update{u}, nil
}

// readUpdate reads v2's terminal_update (schema type TerminalUpdate). Members of another type than the schema's are
// absent, as x-deserialize-default-on-error asks. Output that is no base64 refuses the update: the schema does not say
// what becomes of it.
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

// decode reads base64.
func decode(field string, raw json.RawMessage) ([]byte, error) {
	var data []byte // encoding/json reads it from base64
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

// integer reads a whole number, which JSON may write as 3.0 or 1e2 too; nil: it is something else.
func integer(raw json.RawMessage) *int64 {
	if n := patch[int64](raw).Value; n != nil {
		return n
	}
	const exact = 1 << 53 // whole numbers to this are floating-point numbers
	f := patch[float64](raw).Value
	if f == nil || *f != math.Trunc(*f) || math.Abs(*f) > exact {
		return nil
	}
	return new(int64(*f))
}

// cancelPatch reads v2's capabilities (schema type TerminalCapabilities). A wrong value is none: the client must not
// send a terminal/cancel that was not advertised.
func cancelPatch(raw json.RawMessage) Patch[bool] {
	if raw == nil {
		return Patch[bool]{}
	}
	return Set(patch[object](readObject(raw)["cancel"]).Value != nil)
}
