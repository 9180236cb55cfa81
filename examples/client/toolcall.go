package main

// Tool calls, as the agent tells of them. Their texts may be of any size; the client keeps
// the shown part.

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
	mostToolCallID  = 256 // bytes; a tool call with a longer id is another one in each update
	mostShownInCall = 16  // terminals
	mostTerminalID  = 256 // bytes
	mostStart       = 72  // characters of a title
)

// toolCall is the known part of a tool call.
type toolCall struct {
	id            string
	title, status string // as they are shown
	finished      bool
	terminals     []acpterm.TerminalID
}

// toolCalls are the newest, the oldest first.
type toolCalls []*toolCall

// get returns the one with an id. If there are too many for a new one, an older one is forgotten, which has finished if
// one has.
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

// toolCallUpdate has the fields of the schema types ToolCall and ToolCallUpdate for the screen. An absent or null field
// has not changed.
type toolCallUpdate struct {
	ToolCallID string          `json:"toolCallId"`
	Title      string          `json:"title"`
	Status     string          `json:"status"`
	Content    json.RawMessage `json:"content"`
}

// showToolCall adds an update to a tool call, prints the new description, and returns the title. Content that
// cannot be read counts as none, as the schema says.
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

// setStatus sets a status. Those of the protocol need no quotes.
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

// quoteStart quotes as much of a text as fits on a line; agents put whole scripts into titles.
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
