package agent

// A terminal as an item of a tool call's content.

import (
	"encoding/json"

	"github.com/acpterm/acpterm"
)

// Content represents a terminal in the content of a tool call (schema type ToolCallContent with the type "terminal").
// It should be added to the tool call before the terminal is released. The client will then continue to show the output
// even after the release.
type Content struct {
	TerminalID acpterm.TerminalID
	Meta       acpterm.Meta
}

// Content returns a content item that shows the terminal in a tool call.
func (t *Terminal) Content() Content { return Content{TerminalID: t.id} }

// MarshalJSON implements json.Marshaler. It encodes c as {"type":"terminal","terminalId":…}.
func (c Content) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Type       string             `json:"type"`
		TerminalID acpterm.TerminalID `json:"terminalId"`
		Meta       acpterm.Meta       `json:"_meta,omitempty"`
	}{"terminal", c.TerminalID, c.Meta})
}
