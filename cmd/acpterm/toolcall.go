package main

// This file shows tool calls as the agent reports them. Their texts may be of any size; the client keeps the shown
// part.

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agentterm"
	"github.com/acpterm/acpterm/display"
)

const (
	mostToolCalls   = 200 // are kept
	mostToolCallID  = 256 // bytes; each update with a longer id counts as another tool call
	mostShownInCall = 16  // terminals
	mostTerminalID  = 256 // bytes
	mostStart       = 72  // characters of a title
)

// toolCall is the known state of a tool call.
type toolCall struct {
	id            string
	title, status string // as shown
	finished      bool
	terminals     []acpterm.TerminalID
}

// toolCalls holds the newest tool calls, oldest first.
type toolCalls []*toolCall

// get returns the tool call with an id, and adds a new one if necessary. If the list is full, get first removes the
// oldest finished one, or else the oldest.
func (all *toolCalls) get(id string) *toolCall {
	for _, known := range *all {
		if known.id == id {
			return known
		}
	}
	call := &toolCall{id: id, title: quoteStart("")}
	if len(id) > mostToolCallID {
		return call
	}
	if len(*all) == mostToolCalls {
		oldest := slices.IndexFunc(*all, func(t *toolCall) bool { return t.finished })
		*all = slices.Delete(*all, max(oldest, 0), max(oldest, 0)+1)
	}
	*all = append(*all, call)
	return call
}

// toolCallUpdate has the shown fields of the schema types ToolCall and ToolCallUpdate. An absent or null field has not
// changed.
type toolCallUpdate struct {
	ToolCallID string          `json:"toolCallId"`
	Title      string          `json:"title"`
	Status     string          `json:"status"`
	Content    json.RawMessage `json:"content"`
}

// showToolCall adds an update to a tool call, prints the description if it has changed, and returns the title.
// Unreadable content counts as none, as the schema says.
func (s *session) showToolCall(update toolCallUpdate) (title string) {
	known := s.toolCalls.get(update.ToolCallID)
	before := s.describe(known)
	if update.Title != "" {
		known.title = quoteStart(update.Title)
	}
	if update.Status != "" {
		known.setStatus(update.Status)
	}
	var content []json.RawMessage // its text is left out: a terminal shows the output
	if json.Unmarshal(update.Content, &content) == nil && content != nil {
		known.terminals = slices.DeleteFunc(agentterm.ToolCallTerminals(update.Content), func(id acpterm.TerminalID) bool {
			return len(id) > mostTerminalID
		})
		known.terminals = slices.Clone(known.terminals[:min(len(known.terminals), mostShownInCall)])
	}
	if now := s.describe(known); now != before {
		s.screen.print("* ", now+"\n")
	}
	return known.title
}

// setStatus sets the status, and quotes one that the protocol does not define.
func (t *toolCall) setStatus(status string) {
	switch t.status, t.finished = status, false; status {
	case "pending", "in_progress":
	case "completed", "failed":
		t.finished = true
	default:
		t.status = quoteStart(status)
	}
}

func (s *session) describe(t *toolCall) string {
	text := t.title
	if t.status != "" {
		text += " (" + t.status + ")"
	}
	for _, id := range t.terminals {
		text += " " + s.screen.name(id)
	}
	return text
}

// quoteStart quotes the part of text that fits on a line; agents put whole scripts into titles.
func quoteStart(text string) string {
	const room = 4 << 10 // bytes; many may be blanks
	cut := len(text) > room
	if cut {
		text = strings.ToValidUTF8(text[:room], "")
	}
	start := []rune(strings.Join(strings.Fields(text), " "))
	if len(start) > mostStart {
		start, cut = start[:mostStart], true
	}
	quoted := display.Quote(string(start), 0)
	if cut {
		quoted += "..."
	}
	return quoted
}
