package agent

// A terminal that is seen in a tool call.

import (
	"encoding/json"

	"github.com/acpterm/acpterm"
)

// Content is an item of a tool call's content that shows a terminal: the schema type ToolCallContent, of the type
// "terminal", with a Terminal. The client goes on to show its output when it is released; but it has to be in the tool
// call before that.
type Content struct {
	TerminalID acpterm.TerminalID
	Meta       acpterm.Meta
}

// Content is the terminal as an item of a tool call's content.
func (t *Terminal) Content() Content { return Content{TerminalID: t.id} }

// MarshalJSON writes {"type":"terminal","terminalId":…}.
func (c Content) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Type       string             `json:"type"`
		TerminalID acpterm.TerminalID `json:"terminalId"`
		Meta       acpterm.Meta       `json:"_meta,omitempty"`
	}{"terminal", c.TerminalID, c.Meta})
}
