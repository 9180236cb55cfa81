package main

// This file draws bars: the header, and the first line of each pane with the command, its conversation, state and time.

import (
	"fmt"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

const (
	agentsOwn = "the agent's own · " // in the bar of a command that the agent runs itself

	markColumns    = 16 // of the mark, the number and a very short command
	commandColumns = 36 // of the same with a longer command, before there is room for the conversation's name
	nameColumns    = 8  // of a name; a shorter one says nothing

	blank = "\u00a0" // in bars: many spaces are drawn by erasing, which not every terminal does in colour
)

// header returns the first line of the screen.
func (m *model) header() string {
	left, right := " acpterm editor · "+m.agent, string(m.state)
	if m.name != "" {
		left += " · " + m.name
	}
	if running := m.running(); running > 0 {
		right += fmt.Sprintf(", %d running", running)
	}
	right += " "
	return m.styles.header.Render(fill(left, m.width-1-ansi.StringWidth(right)) + " " + right)
}

// title returns the title of the terminal's window.
func (m *model) title() string {
	title := "acpterm editor"
	if m.name != "" {
		title = m.name + " · " + title
	}
	if len(m.dialogs) > 0 {
		title = "? " + title
	}
	return title
}

// running returns the number of running commands, including the agent's own.
func (m *model) running() (n int) {
	for _, p := range m.panes {
		if p.Running() {
			n++
		}
	}
	return n
}

// bar returns the first line of a pane. The open one's bar has the colour of the command's state.
func (m *model) bar(pane int) string {
	width := m.layout.paneWidth
	mark, style, text, own, facts := "≡", m.styles.quiet, "the agent's log", "", []string(nil)
	if pane > 0 {
		p := m.panes[pane-1]
		mark, style = m.mark(p)
		text = fmt.Sprintf("%d %s", pane, p.Command(commandBytes))
		own, facts = describe(p, width)
	}
	if pane == m.chosen && !m.paneView.AtBottom() {
		facts = append(facts, "↓ more")
	}
	right := strings.Join(facts, " · ") + blank
	text = fill(" "+text, width-3-ansi.StringWidth(own+right)) // with the mark, and a space on each side
	if pane == m.chosen {
		return style.Bold(true).Reverse(true).Render(fill(" "+mark+text+" "+own+right, width))
	}
	bar := m.styles.bar
	onBar := func(s lipgloss.Style) lipgloss.Style { return s.Background(bar.GetBackground()) }
	return onBar(style).Render(" "+mark) + bar.Render(text+" ") + onBar(m.styles.own).Render(own) + bar.Render(right)
}

// describe returns agentsOwn if the agent itself runs the command, and the facts that there is room for: the name of
// the conversation, the command's state, and how long it has been running.
func describe(p *Pane, width int) (own string, facts []string) {
	since := duration(p.Duration(), p.Running())
	state := cut(p.State(), max(0, width-markColumns-len(since)))
	room := width - ansi.StringWidth(state) - len(since)
	if p.OfAgent() && room >= ansi.StringWidth(agentsOwn)+markColumns { // else a long state tells
		own = agentsOwn
		room -= ansi.StringWidth(own)
	}
	if room -= commandColumns; room >= nameColumns {
		return own, []string{cut(p.Owner(), min(room, width/4)), state, since}
	}
	return own, []string{state, since}
}

// mark returns the mark and the colour of a command's state.
func (m *model) mark(p *Pane) (string, lipgloss.Style) {
	switch {
	case p.Running():
		return "●", m.styles.running
	case p.Succeeded():
		return "✔", m.styles.succeeded
	case p.EndUnknown():
		return "■", m.styles.quiet
	}
	return "✘", m.styles.failed
}

// duration returns a duration as short text. That of a running command is in whole seconds.
func duration(d time.Duration, running bool) string {
	switch seconds := int(d / time.Second); {
	case seconds < 10 && !running:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case seconds < 60:
		return fmt.Sprintf("%ds", seconds)
	case seconds < 3600:
		return fmt.Sprintf("%dm%02ds", seconds/60, seconds%60)
	default:
		return fmt.Sprintf("%dh%02dm", seconds/3600, seconds/60%60)
	}
}

// fill cuts or pads a line to width.
func fill(line string, width int) string {
	line = cut(line, max(0, width))
	return line + strings.Repeat(blank, max(0, width-ansi.StringWidth(line)))
}
