package main

// This file shows tool calls as the agent reports them. Their texts may be of any size; the client keeps the shown
// part.
//
// On a terminal, a tool call has a row that changes while it goes on, and then a line. In a pipe, it has a line when it
// begins and one when it ends. The lines of a terminal or a denial with the same command stand for both.

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
	bare          string // the title, from bareCommand
	allowed       string // the chosen option, as shown
	finished      bool
	kept          bool // in toolCalls, so that it may have a row
	terminals     []acpterm.TerminalID
	printed       string // its last line

	before shownCount // when it was first reported
}

// toolCalls holds the newest tool calls, oldest first.
type toolCalls []*toolCall

// get returns the tool call with an id, and adds a new one if necessary; before counts the terminals and denials so far.
// If the list is full, get first removes the oldest finished one, or else the oldest, and returns it as well.
func (all *toolCalls) get(id string, before shownCount) (call, removed *toolCall) {
	for _, known := range *all {
		if known.id == id {
			return known, nil
		}
	}
	call = &toolCall{id: id, title: quoteStart(""), before: before}
	if len(id) > mostToolCallID {
		return call, nil
	}
	if len(*all) == mostToolCalls {
		oldest := max(0, slices.IndexFunc(*all, func(t *toolCall) bool { return t.finished }))
		removed = (*all)[oldest]
		removed.kept = false
		*all = slices.Delete(*all, oldest, oldest+1)
	}
	call.kept = true
	*all = append(*all, call)
	return call, removed
}

// toolCallUpdate has the shown fields of the schema types ToolCall and ToolCallUpdate. An absent or null field has not
// changed.
type toolCallUpdate struct {
	ToolCallID string          `json:"toolCallId"`
	Title      string          `json:"title"`
	Status     string          `json:"status"`
	Content    json.RawMessage `json:"content"`
}

// addToolCall adds an update to a tool call, and returns the call. Unreadable content counts as none, as the schema says.
func (s *session) addToolCall(update toolCallUpdate) *toolCall {
	known, removed := s.toolCalls.get(update.ToolCallID, s.screen.count())
	if removed != nil {
		s.showToolCall(removed)
	}
	if update.Title != "" {
		known.title, known.bare = quoteStart(update.Title), bareCommand(update.Title)
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
	return known
}

// showToolCall shows the state of a tool call after a change.
func (s *session) showToolCall(t *toolCall) {
	hasRow := s.screen.showCalls(func(yield func(callRow) bool) {
		for _, t := range s.toolCalls {
			if !t.finished && !yield(callRow{t.command(), s.describe(t)}) {
				return
			}
		}
	}) && t.kept && !t.finished
	now, first := s.describe(t), t.printed == ""
	if !hasRow && (first || t.finished || !t.kept) && now != t.printed && !s.screen.shows(t.command()) {
		t.printed = now
		s.screen.print("* ", now+"\n")
	}
}

// command returns what tells whether a terminal shows the command of the tool call.
func (t *toolCall) command() calledCommand { return calledCommand{t.bare, t.terminals, t.before} }

// setStatus sets the status, and quotes one that the protocol does not define.
func (t *toolCall) setStatus(status string) {
	switch t.status, t.finished = status, false; status {
	case "pending":
	case "in_progress":
		t.status = "in progress"
	case "completed", "failed":
		t.finished = true
	default:
		t.status = quoteStart(status)
	}
}

func (s *session) describe(t *toolCall) string {
	text := t.title
	switch {
	case t.allowed != "" && (t.status == "" || t.status == "pending"):
		text += ": allowed (" + t.allowed + ")"
	case t.status != "":
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
