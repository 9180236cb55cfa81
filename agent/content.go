package agent

// A terminal as an item of a tool call's content.

import (
	"encoding/json"

	"github.com/acpterm/acpterm"
)

// Content is an item of a tool call's content that shows a terminal: the schema's ToolCallContent with the type
// "terminal". It must be in the tool call before the terminal is released. The client continues to show the output.
type Content struct {
	TerminalID acpterm.TerminalID
	Meta       acpterm.Meta
}

// Content returns the terminal as an item of a tool call's content.
func (t *Terminal) Content() Content { return Content{TerminalID: t.id} }

// MarshalJSON writes {"type":"terminal","terminalId":…}.
func (c Content) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Type       string             `json:"type"`
		TerminalID acpterm.TerminalID `json:"terminalId"`
		Meta       acpterm.Meta       `json:"_meta,omitempty"`
	}{"terminal", c.TerminalID, c.Meta})
}
