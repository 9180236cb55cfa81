package main

// This file draws the screen: a line about the agent, the conversation, the panes or a dialog, the prompt, and a line
// about the keys.

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
)

const (
	tailLines = 2 // of a running command whose pane is not open
	openLines = 6 // minimum of the open pane before others get lines

	commandBytes = 1000 // of a command in a title
)

// styles uses the colours of the user's terminal theme.
type styles struct {
	plain, bold, faint, call, bar, selected, alert lipgloss.Style
	running, succeeded, failed                     lipgloss.Style
}

func newStyles() styles {
	style := lipgloss.NewStyle()
	return styles{
		plain: style, bold: style.Bold(true), faint: style.Faint(true), call: style.Foreground(lipgloss.Cyan),
		bar: style.Reverse(true), selected: style.Reverse(true),
		alert:   style.Bold(true).Foreground(lipgloss.Black).Background(lipgloss.Yellow),
		running: style.Foreground(lipgloss.Yellow), succeeded: style.Foreground(lipgloss.Green),
		failed: style.Foreground(lipgloss.Red),
	}
}

// layout has the number of lines of each part.
type layout struct {
	talk  int   // the conversation
	open  int   // the output in the open pane
	first int   // the first pane whose title is shown
	tails []int // for each pane whose title is shown, its lines of output below the title
}

func (m *model) newLayout() (l layout) {
	body := max(0, m.height-3)
	switch {
	case len(m.dialogs) > 0:
		l.talk = max(0, body-m.dialogs[0].resize(m.width, body*3/4))
	case len(m.panes) == 0 && m.screen.log.text() == "":
		l.talk = body
	default:
		l.talk = body * 2 / 5
		m.dividePanes(&l, body-l.talk)
	}
	return l
}

// dividePanes gives each pane near the open one a line for its title, running ones some lines of output, and the open
// one the rest.
func (m *model) dividePanes(l *layout, height int) {
	titles := min(len(m.panes)+1, max(1, height/3))
	l.first = min(max(0, m.chosen-titles/2), len(m.panes)+1-titles)
	l.tails = make([]int, titles)
	l.open = max(0, height-titles)
	for i := range l.tails {
		pane := l.first + i
		if pane != m.chosen && pane > 0 && m.panes[pane-1].Running() && l.open-tailLines >= openLines {
			l.tails[i] = tailLines
			l.open -= tailLines
		}
	}
}

func (m *model) View() tea.View {
	v := tea.NewView("")
	v.AltScreen = true
	if m.width < 20 || m.height < 12 {
		v.Content = cut("The window is too small.", m.width)
		return v
	}
	side := m.panesView()
	if len(m.dialogs) > 0 {
		side = m.dialogs[0].view(m.styles, len(m.dialogs)-1)
	}
	body := m.talkView.View()
	if side != "" {
		body += "\n" + side
	}
	help := "Enter send  Esc cancel  Tab pane  PgUp/PgDn scroll  ^X stop  ⇧↑↓ talk  ^C quit"
	help = m.styles.faint.Render(cut(help, m.width))
	v.Content = strings.Join([]string{m.header(), body, m.input.View(), help}, "\n")
	return v
}

// header returns the line about the agent.
func (m *model) header() string {
	text := fmt.Sprintf(" acpterm editor · %s · %s", m.agent, m.state)
	if running := m.editor.Running(); running > 0 {
		text += fmt.Sprintf(", %d running", running)
	}
	if m.name != "" {
		text += " · " + m.name
	}
	return m.styles.bar.Width(m.width).Render(cut(text, m.width))
}

// panesView draws the panes that fit.
func (m *model) panesView() string {
	var lines []string
	for i, tail := range m.layout.tails {
		pane := m.layout.first + i
		lines = append(lines, m.title(pane))
		if pane == m.chosen && m.layout.open > 0 {
			lines = append(lines, m.paneView.View())
		}
		if tail > 0 {
			lines = append(lines, m.tail(pane, tail)...)
		}
	}
	return strings.Join(lines, "\n")
}

// title returns the first line of a pane.
func (m *model) title(pane int) string {
	mark, style, text := "≡", m.styles.faint, "the agent's log"
	if pane > 0 {
		p := m.panes[pane-1]
		switch {
		case p.Running():
			mark, style = "●", m.styles.running
		case p.Succeeded():
			mark, style = "✔", m.styles.succeeded
		case p.EndUnknown():
			mark, style = "■", m.styles.faint
		default:
			mark, style = "✘", m.styles.failed
		}
		owner := ""
		if p.OfAgent() {
			owner = "the agent's, "
		}
		text = fmt.Sprintf("%d %s%s · %s", pane, owner, p.State(), p.Command(commandBytes))
	}
	line := cut(mark+" "+text, m.width)
	if pane == m.chosen {
		return style.Reverse(true).Width(m.width).Render(line)
	}
	return style.Render(line)
}

// tail returns the last lines of a pane other than the open one.
func (m *model) tail(pane, n int) []string {
	text, _ := m.panes[pane-1].Text()
	text = text[max(0, len(text)-4096):]
	lines := outputLines(text)
	lines = append(lines[max(0, len(lines)-n):], "", "")[:n]
	for i, line := range lines {
		lines[i] = m.styles.faint.Render(cut("  "+line, m.width))
	}
	return lines
}
