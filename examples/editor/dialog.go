package main

// This file has the dialog on the screen: a box below the panes. Keys typed for something else must not answer it. So
// it begins at a choice that allows nothing, and only Enter answers it. Enter on a choice that allows something shows
// the rest of the text first.

import (
	"fmt"
	"slices"
	"strings"

	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// dialogMargin is the number of columns of the box on each side of its text.
const dialogMargin = 2

// dialog is a Dialog on the screen, or waiting for it.
type dialog struct {
	Dialog
	answer   chan int
	selected int // index in Choices, or -1
	shown    int // number of Choices that fit
	full     bool
	width    int // of the box
	text     viewport.Model
}

func newDialog(d Dialog) *dialog {
	safe := slices.IndexFunc(d.Choices, func(c Choice) bool { return !c.Allows })
	return &dialog{Dialog: d, answer: make(chan int, 1), selected: safe, text: viewport.New()}
}

// resize fits the dialog into width and most lines, and returns its height.
func (d *dialog) resize(width, most int) int {
	text := d.Text
	if d.full {
		text = d.Full
	}
	d.width = width
	width = max(1, width-2*dialogMargin)
	lines := fold(strings.Split(strings.TrimSuffix(text, "\n"), "\n"), width)
	d.shown = min(len(d.Choices), max(2, most/2))
	rest := d.shown + 2 // title and hint
	d.text.SetWidth(width)
	d.text.SetHeight(max(1, min(len(lines), most-rest)))
	d.text.SetContentLines(lines)
	return d.text.Height() + rest
}

// key handles a key, and reports whether it answered the dialog.
func (d *dialog) key(key string) (answered bool) {
	switch key {
	case "up":
		d.selected = max(d.selected-1, 0)
	case "down":
		d.selected = min(d.selected+1, len(d.Choices)-1)
	case "pgup":
		d.text.PageUp()
	case "pgdown":
		d.text.PageDown()
	case "end":
		d.full = d.Full != ""
		d.resize(d.width, 0)
		d.text.GotoBottom()
	case "enter":
		if d.selected < 0 || d.Choices[d.selected].Allows && d.readOn() {
			return false
		}
		d.answer <- d.selected
		return true
	}
	return false
}

// readOn shows more of the text, and reports whether there was more.
func (d *dialog) readOn() bool {
	switch {
	case !d.text.AtBottom():
		d.text.PageDown()
	case d.Full != "" && !d.full:
		d.full = true
		d.resize(d.width, 0) // the next refresh makes it fit
		d.text.GotoTop()
	default:
		return false
	}
	return true
}

// first returns the index of the first visible choice.
func (d *dialog) first() int { return min(max(0, d.selected-d.shown/2), len(d.Choices)-d.shown) }

// view draws the dialog. others is the number of waiting dialogs.
func (d *dialog) view(s styles, others int) string {
	title := d.Title
	if others > 0 {
		title += fmt.Sprintf(" (%d more after this)", others)
	}
	hint := fmt.Sprintf("↑↓ one of %d   Enter answer   Esc cancel the turn", len(d.Choices))
	if !d.text.AtBottom() || d.Full != "" && !d.full {
		hint = "More to read: PgDn, or End for all of it   ↑↓ choose   Enter answer"
	}
	border := func(left, text, right string) string {
		text = cut(text, d.width-6)
		line := strings.Repeat("─", d.width-5-ansi.StringWidth(text))
		return s.ask.Render(left+"─ ") + s.ask.Bold(true).Render(text) + s.ask.Render(" "+line+right)
	}
	side := s.ask.Render("│")
	lines := []string{border("╭", title, "╮")}
	for line := range strings.SplitSeq(d.text.View(), "\n") {
		lines = append(lines, side+" "+fill(line, d.text.Width())+" "+side)
	}
	for i, choice := range d.Choices[d.first() : d.first()+d.shown] {
		line := fill("   "+choice.Label, d.text.Width()+2)
		if d.first()+i == d.selected {
			line = s.ask.Bold(true).Reverse(true).Render(fill(" ▸ "+choice.Label, d.text.Width()+2))
		}
		lines = append(lines, side+line+side)
	}
	return strings.Join(append(lines, border("╰", hint, "╯")), "\n")
}

// ask shows a dialog after the waiting ones.
func (m *model) ask(d *dialog) {
	m.dialogs = append(m.dialogs, d)
	m.refresh()
}

// withdraw removes a dialog.
func (m *model) withdraw(d *dialog) {
	m.dialogs = slices.DeleteFunc(m.dialogs, func(other *dialog) bool { return other == d })
	m.refresh()
}

// dialogKey handles a key while a dialog is open.
func (m *model) dialogKey(key string) tea.Cmd {
	switch d := m.dialogs[0]; key {
	case "ctrl+c", "esc":
		return m.keys[key]()
	default:
		if d.key(key) {
			m.withdraw(d)
		}
		m.refresh()
	}
	return nil
}
