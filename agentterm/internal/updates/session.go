package updates

// What ACP v2 tells about a session apart from its terminals: which tool calls can be cancelled, and the work in the
// background.

import (
	"encoding/json"
	"slices"
)

// ToolCall is an update of one tool call.
type ToolCall struct {
	ID string
	// Cancel reports whether the agent serves tool_call/cancel for the tool call. Null means false.
	Cancel Patch[bool]
}

// Work is an item of the work in the background (schema type BackgroundWork).
type Work struct {
	Type       string
	Terminal   string // of type "terminal"
	ToolCallID string // of type "tool_call"
	Raw        json.RawMessage
}

// readCancel reads the capabilities of a tool call (schema type ToolCallUpdate). It returns nil if the update says
// nothing about them. A tool call that has ended cannot be cancelled.
func readCancel(call object) *ToolCall {
	id, status := call.id("toolCallId"), call.text("status")
	cancel := cancelPatch(call["capabilities"])
	if status != nil && slices.Contains([]string{"completed", "failed", "cancelled"}, *status) {
		cancel = Set(false)
	}
	if id == "" || !cancel.Present {
		return nil
	}
	return &ToolCall{id, cancel}
}

// readBackground reads the background of a state_update (schema type StateUpdate). It returns nil if the agent does not
// report it. A malformed list counts as not reported.
func readBackground(update object) *[]Work {
	items := patch[[]json.RawMessage](update["background"])
	if items.Value == nil {
		return nil
	}
	all := make([]Work, 0, min(len(*items.Value), 100))
	for _, raw := range *items.Value {
		m := readObject(raw)
		kind := m.text("type")
		if kind == nil {
			return nil
		}
		w := Work{Type: *kind, Raw: raw}
		switch *kind {
		case "terminal":
			w.Terminal = m.id("terminalId")
		case "tool_call":
			w.ToolCallID = m.id("toolCallId")
		}
		if (*kind == "terminal" || *kind == "tool_call") && w.Terminal+w.ToolCallID == "" {
			return nil
		}
		all = append(all, w)
	}
	return &all
}
