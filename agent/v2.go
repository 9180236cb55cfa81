package agent

// The messages about an agent's terminals that this package sends in ACP v2. Their names are those of its schema
// (schema/v2/schema.json of npm's @agentclientprotocol/sdk 2.4.0). internal/checks/conformance/testdata/schema contains
// the part about terminals.

import (
	"encoding/base64"
	"encoding/json"

	"github.com/acpterm/acpterm"
)

const (
	methodUpdate         = "session/update"
	methodCancel         = "terminal/cancel"
	methodCancelToolCall = "tool_call/cancel"
)

// sessionUpdate is the params of session/update (schema type UpdateSessionNotification; in v1 SessionNotification).
type sessionUpdate struct {
	SessionID acpterm.SessionID `json:"sessionId"`
	Update    any               `json:"update"`
}

// terminalUpdate changes the client's state of a terminal (schema type TerminalUpdate). An absent field does not change
// anything.
type terminalUpdate struct {
	SessionUpdate string                      `json:"sessionUpdate"` // "terminal_update"
	TerminalID    acpterm.TerminalID          `json:"terminalId"`
	Command       string                      `json:"command,omitempty"`
	Cwd           string                      `json:"cwd,omitempty"`
	Output        *terminalOutput             `json:"output,omitempty"`
	ExitStatus    *acpterm.TerminalExitStatus `json:"exitStatus,omitempty"`
	Capabilities  json.RawMessage             `json:"capabilities,omitempty"` // null removes them
}

// The values of terminalUpdate.Capabilities (schema type TerminalCapabilities) and toolCallUpdate.Capabilities (schema
// type ToolCallCapabilities).
const (
	noCapabilities = `null`
	canBeCancelled = `{"cancel":{}}`
)

// terminalOutput replaces the client's whole output (schema type TerminalOutput).
type terminalOutput struct {
	Data rawBytes `json:"data"`
}

// terminalOutputChunk is appended to the client's output (schema type TerminalOutputChunk).
type terminalOutputChunk struct {
	SessionUpdate string             `json:"sessionUpdate"` // "terminal_output_chunk"
	TerminalID    acpterm.TerminalID `json:"terminalId"`
	Data          rawBytes           `json:"data"`
}

// rawBytes are base64 in JSON. The type is a string so that a queued message does not hold a copy.
type rawBytes string

// MarshalJSON writes padded base64 with the standard alphabet.
func (b rawBytes) MarshalJSON() ([]byte, error) {
	quoted := make([]byte, 0, base64.StdEncoding.EncodedLen(len(b))+2)
	quoted = append(quoted, '"')
	quoted = base64.StdEncoding.AppendEncode(quoted, []byte(b))
	return append(quoted, '"'), nil
}

// v2Voice reports a terminal as ACP v2 does.
type v2Voice struct {
	terminal    *acpterm.Terminal
	cancellable bool
}

func (v v2Voice) began(ended, empty bool) any {
	command := v.terminal.Command()
	u := v.update()
	u.Command, u.Cwd = command.String(), command.Dir
	u.Capabilities = json.RawMessage(noCapabilities)
	if v.cancellable && !ended {
		u.Capabilities = json.RawMessage(canBeCancelled)
	}
	if empty {
		u.Output = &terminalOutput{}
	}
	return u
}

func (v v2Voice) wrote(c acpterm.Chunk, replace bool) any {
	if !replace && c.Missed == 0 {
		return terminalOutputChunk{"terminal_output_chunk", v.terminal.ID(), rawBytes(c.Raw)}
	}
	u := v.update()
	u.Output = &terminalOutput{rawBytes(c.Raw)}
	return u
}

func (v v2Voice) exited(status acpterm.TerminalExitStatus) any {
	u := v.update()
	u.ExitStatus, u.Capabilities = &status, json.RawMessage(noCapabilities)
	return u
}

func (v v2Voice) update() terminalUpdate {
	return terminalUpdate{SessionUpdate: "terminal_update", TerminalID: v.terminal.ID()}
}
