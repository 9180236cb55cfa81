package main

// This file shows the conversation.

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/display"
)

const (
	maxEntries   = 500 // older ones are dropped
	maxTextBytes = 128 << 10
	titleBytes   = 200 // of a tool call's title
)

// entry is a message of the user, the agent or the editor, or a tool call.
type entry struct {
	by   speaker
	text string
	call *ToolCall
}

// transcript is a conversation as the user reads it.
type transcript []entry

// add adds an entry, and drops the oldest entries if there is too much. The agent's text continues its previous text,
// and a known tool call is replaced.
func (t *transcript) add(e entry) {
	if e.call != nil {
		for i := range *t {
			if old := (*t)[i].call; old != nil && old.ID == e.call.ID {
				(*t)[i] = e
				return
			}
		}
	}
	e.text = harmless(e.text)
	if n := len(*t); n > 0 && e.by == theAgent && (*t)[n-1].by == theAgent {
		e.text = (*t)[n-1].text + e.text
		*t = (*t)[:n-1]
	}
	e.text = string(lastBytes([]byte(e.text), maxTextBytes))
	*t = append(*t, e)
	size := 0
	for _, e := range *t {
		size += len(e.text)
	}
	for ; len(*t) > maxEntries || size > maxTextBytes; *t = (*t)[1:] {
		size -= len((*t)[0].text)
	}
}

// lines draws the transcript. number returns the number of a terminal's pane, or 0.
func (t transcript) lines(s styles, width int, number func(acpterm.TerminalID) int) (lines []string) {
	for _, e := range t {
		text, style := e.text, s.plain
		switch {
		case e.call != nil:
			text, style = e.call.describe(number), s.call
		case e.by == theUser:
			text, style = "› "+text, s.bold
			if len(lines) > 0 {
				lines = append(lines, "")
			}
		case e.by == theEditor:
			text, style = "— "+text, s.quiet
		}
		for line := range strings.SplitSeq(ansi.Wrap(strings.Trim(text, "\n"), width, ""), "\n") {
			lines = append(lines, style.Render(line))
		}
	}
	return lines
}

// describe returns a tool call as one line.
func (c *ToolCall) describe(number func(acpterm.TerminalID) int) string {
	text := "• " + display.Visible(c.Title, titleBytes)
	if c.Status != "" {
		text += " (" + display.Visible(c.Status, titleBytes) + ")"
	}
	for _, id := range c.Terminals {
		if n := number(id); n > 0 {
			text += fmt.Sprintf(" [%d]", n)
		}
	}
	return text
}
