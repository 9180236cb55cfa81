package agent

// The agent's own terminals in ACP v1. The protocol does not have them. This is the convention of Zed and of the agents
// that it runs, by keys in the _meta of a tool call and its updates. The tool call's id is the terminal's id. Clients
// only append to the output that they show.

import (
	"encoding/json"
	"fmt"

	"github.com/acpterm/acpterm"
)

const (
	outputKey = "terminal_output"
	deltaKey  = "terminal_output_delta"
)

// metaOutputKey returns the key for output that a client advertises in the _meta of its capabilities, or "". If a
// client supports both keys, existing agents prefer the delta. Both keys mean the same to them.
func metaOutputKey(c acpterm.ClientCapabilities) string {
	for _, key := range []string{deltaKey, outputKey} {
		if string(c.Meta[key]) == "true" {
			return key
		}
	}
	return ""
}

// terminalInfo is the key terminal_info. Only a tool call has it, not its updates.
type terminalInfo struct {
	TerminalID string `json:"terminal_id"`
	Cwd        string `json:"cwd,omitempty"`
}

// metaOutput is the key terminal_output or terminal_output_delta.
type metaOutput struct {
	TerminalID string `json:"terminal_id"`
	Data       string `json:"data"`
}

// terminalExit is the key terminal_exit. Both members may be null.
type terminalExit struct {
	TerminalID string  `json:"terminal_id"`
	ExitCode   *uint32 `json:"exit_code"`
	Signal     *string `json:"signal"`
}

// metaVoice reports a terminal in the _meta of updates of a tool call.
type metaVoice struct {
	toolCall string
	key      string
}

// began returns nil: the tool call has already announced the terminal.
func (v metaVoice) began(bool, bool) any { return nil }

func (v metaVoice) wrote(c acpterm.Chunk, _ bool) any {
	text := c.Text
	if c.Missed > 0 {
		text = fmt.Sprintf("\n[%d bytes of output are not shown]\n", c.Missed) + text
	}
	return v.update(v.key, metaOutput{v.toolCall, text})
}

func (v metaVoice) exited(status acpterm.TerminalExitStatus) any {
	return v.update("terminal_exit", terminalExit{v.toolCall, status.ExitCode, status.Signal})
}

func (v metaVoice) update(key string, value any) any {
	return toolCallUpdate{SessionUpdate: "tool_call_update", ToolCallID: v.toolCall, Meta: map[string]any{key: value}}
}

// toolCallUpdate announces or changes a tool call (schema types ToolCall and ToolCallUpdate of v1, ToolCallUpdate of
// v2). An absent field of a change changes nothing.
type toolCallUpdate struct {
	SessionUpdate string           `json:"sessionUpdate"` // "tool_call_update", or in v1 "tool_call"
	ToolCallID    string           `json:"toolCallId"`
	Title         string           `json:"title,omitempty"`
	Kind          string           `json:"kind,omitempty"`
	Status        string           `json:"status,omitempty"`
	Content       []json.Marshaler `json:"content,omitempty"`
	RawInput      map[string]any   `json:"rawInput,omitempty"`
	Meta          map[string]any   `json:"_meta,omitempty"`
	Capabilities  json.RawMessage  `json:"capabilities,omitempty"` // of v2; null removes them
}

// textContent is a text as an item of a tool call's content (schema type Content, with a TextContent).
type textContent string

// MarshalJSON writes {"type":"content","content":{"type":"text","text":…}}.
func (c textContent) MarshalJSON() ([]byte, error) {
	type block struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	return json.Marshal(struct {
		Type    string `json:"type"`
		Content block  `json:"content"`
	}{"content", block{"text", string(c)}})
}
