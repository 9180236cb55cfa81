package agent

// A terminal as an item of a tool call's content.

import (
	"encoding/json"

	"github.com/acpterm/acpterm"
)

// Content is an item in the content of a tool call that shows a terminal (schema type ToolCallContent with the type
// "terminal"). It must be added before the terminal is released, after which the client continues to show the output.
type Content struct {
	TerminalID acpterm.TerminalID
	Meta       acpterm.Meta
}

// Content returns an item showing the terminal in a tool call.
func (t *Terminal) Content() Content { return Content{TerminalID: t.id} }

// MarshalJSON encodes c as {"type":"terminal","terminalId":…}.
func (c Content) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Type       string             `json:"type"`
		TerminalID acpterm.TerminalID `json:"terminalId"`
		Meta       acpterm.Meta       `json:"_meta,omitempty"`
	}{"terminal", c.TerminalID, c.Meta})
}
