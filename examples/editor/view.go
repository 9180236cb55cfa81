package main

// This file draws the screen: the header, the conversation, the panes, a dialog, the prompt, and a line about the keys.

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

func (m *model) View() tea.View {
	v := tea.NewView("")
	v.AltScreen = true
	if m.width < 20 || m.height < 12 {
		v.Content = cut("The window is too small.", m.width)
		return v
	}
	v.WindowTitle = m.title()
	parts := []string{m.header(), m.body()}
	if len(m.dialogs) > 0 {
		parts = append(parts, m.dialogs[0].view(m.styles, len(m.dialogs)-1))
	}
	help := " Enter send  Esc cancel  Tab pane  PgUp/PgDn scroll  ^X stop  ⇧↑↓ talk  ^C quit"
	parts = append(parts, m.input.View(), m.styles.quiet.Render(cut(help, m.width)))
	v.Content = strings.Join(parts, "\n")
	v.Cursor = m.cursor()
	return v
}

// cursor returns the cursor at the place that the keys change: the selected choice of a dialog, or else the prompt.
func (m *model) cursor() *tea.Cursor {
	prompt := m.height - 2
	if len(m.dialogs) > 0 {
		d := m.dialogs[0]
		if d.selected < 0 {
			return nil
		}
		return tea.NewCursor(dialogMargin+1, prompt-1-d.shown+d.selected-d.first())
	}
	// The input's Cursor ignores wide characters and scrolling. The cursor that it draws, in reverse, does not.
	drawn := m.input
	drawn.SetVirtualCursor(true)
	before, _, _ := strings.Cut(drawn.View(), "\x1b[7m")
	c := tea.NewCursor(ansi.StringWidth(before), prompt)
	c.Blink = false
	return c
}

// body draws the conversation and the panes.
func (m *model) body() string {
	talk, panes := m.talkView.View(), m.panesView()
	switch {
	case panes == "":
		return talk
	case !m.layout.beside():
		return talk + "\n" + panes
	}
	line := m.styles.quiet.Render(strings.TrimSuffix(strings.Repeat("│\n", m.layout.talk), "\n"))
	return lipgloss.JoinHorizontal(lipgloss.Top, talk, line, panes)
}

// panesView draws the panes that fit.
func (m *model) panesView() string {
	var lines []string
	for i, tail := range m.layout.tails {
		pane := m.layout.first + i
		lines = append(lines, m.bar(pane))
		if pane == m.chosen && m.layout.open > 0 {
			lines = append(lines, m.paneView.View())
		}
		for _, line := range tail {
			lines = append(lines, m.styles.quiet.Render("  "+line))
		}
	}
	return strings.Join(lines, "\n")
}
