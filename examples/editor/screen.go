package main

// This file is the screen, a bubbletea model. Only its goroutine changes it: the others send it a change.

import (
	"fmt"
	"slices"
	"strings"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/acpterm/acpterm/display"
)

type model struct {
	editor        *editor
	state         string
	talk          string // the conversation
	panes         []*pane
	open          int         // index of the pane on the screen
	questions     []*question // the first one is on the screen
	input         textinput.Model
	width, height int
}

func (m *model) Init() tea.Cmd {
	m.state, m.input = "starting", textinput.New()
	return tea.Batch(m.input.Focus(), m.editor.open)
}

// change is a message that changes the model.
type change func(*model)

func (e *editor) change(c change) { e.screen.Send(c) }

func (m *model) Update(msg tea.Msg) (_ tea.Model, cmd tea.Cmd) {
	switch msg := msg.(type) {
	case change:
		msg(m)
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		cmd = m.key(msg)
	}
	return m, cmd
}

func (m *model) key(msg tea.KeyPressMsg) (cmd tea.Cmd) {
	switch key := msg.Keystroke(); {
	case key == "ctrl+c":
		return tea.Quit
	case len(m.questions) > 0:
		m.answer(m.questions[0], key)
	case key == "tab" && len(m.panes) > 0:
		m.open = (m.open + 1) % len(m.panes)
	case key == "ctrl+x" && len(m.panes) > 0:
		return m.panes[m.open].stop
	case key == "enter" && m.state == "ready":
		text := m.input.Value()
		m.input.Reset()
		m.say("› ", text)
		m.state = "working"
		return func() tea.Msg { return m.editor.prompt(text) }
	default:
		m.input, cmd = m.input.Update(msg)
	}
	return cmd
}

// answer handles a key while there is a question. y and n choose, unless they are part of other text.
func (m *model) answer(q *question, key string) {
	step := map[string]int{"up": -1, "down": 1}[key]
	switch {
	case step != 0:
		q.selected, q.typed = min(max(q.selected+step, 0), len(q.options)-1), false
	case key == "y" && !q.typed:
		q.selected = q.first("allow_once")
	case key != "enter":
		q.selected, q.typed = q.first("reject_"), q.typed || key != "n"
	case q.selected >= 0 && (m.fits(q) || strings.HasPrefix(string(q.options[q.selected].Kind), "reject_")):
		q.answer <- q.options[q.selected]
		m.withdraw(q)
	}
}

func (m *model) withdraw(q *question) {
	m.questions = slices.DeleteFunc(m.questions, func(other *question) bool { return other == q })
}

func (m *model) ready(err error) {
	if m.state = "ready"; err != nil {
		m.say("— ", err.Error())
	}
}

// say adds a line to the conversation.
func (m *model) say(prefix, text string) {
	m.talk = newest(strings.TrimSuffix(m.talk, "\n") + "\n" + prefix + text + "\n")
}

func (m *model) View() tea.View {
	box, help := []string(nil), "^C quit  Enter send  ^X stop  Tab next command"
	if len(m.questions) > 0 {
		box, help = m.box(m.questions[0]), "^C quit  Enter answer  y n ↑ ↓ choose"
	}
	room := max(0, m.height-len(box)-3) // without the first line, the prompt and the help
	drawn := m.section("editor", m.state, m.talk, room)
	if len(m.panes) > 0 && room > 1 {
		p, talk := m.panes[m.open], m.section("editor", m.state, m.talk, room/2)
		drawn = append(talk, m.section(p.terminal.Command().String(), p.state(), p.output, room-room/2-1)...)
	}
	v := tea.NewView(strings.Join(append(append(drawn, box...), m.input.View(), m.line(help)), "\n"))
	v.AltScreen = true
	return v
}

// section returns a bar and the last n lines of a text. A long name leaves room for the state in the bar.
func (m *model) section(name, state, text string, n int) []string {
	lines := m.lines(text)
	if above := len(lines) - max(n, 1); above > 0 {
		state += fmt.Sprintf(" · %d%s lines above", above, map[bool]string{true: "+"}[len(text) > mostKept-4])
	}
	name = ansi.Truncate(display.Visible(name, 200), max(8, m.width-ansi.StringWidth("──  · "+state)), "…")
	lines = lines[max(0, len(lines)-n):]
	return append(append([]string{m.line("── " + name + " · " + state)}, lines...), make([]string, n-len(lines))...)
}

func (m *model) box(q *question) []string {
	text := []string{"The window is too small for the command. Enlarge it, or refuse."}
	if m.fits(q) {
		text = m.lines(q.text)
	}
	drawn := append([]string{m.line("── " + q.title)}, text...)
	for i, option := range q.options {
		drawn = append(drawn, m.line(map[bool]string{true: "▸ ", false: "  "}[i == q.selected]+option.Text(100)))
	}
	return drawn
}

// fits reports whether the screen has room for the whole text of a question.
func (m *model) fits(q *question) bool { return len(m.lines(q.text))+len(q.options)+4 <= m.height }

func (m *model) line(text string) string { return ansi.Truncate(text, m.width, "…") }

// lines breaks text into lines that cannot steer the terminal. A carriage return restarts its line, as progress bars do.
func (m *model) lines(text string) (lines []string) {
	text = strings.TrimSuffix(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.ReplaceAll(line[strings.LastIndexByte(line, '\r')+1:], "\t", "    ")
		lines = append(lines, strings.Split(ansi.Hardwrap(display.Visible(line, 0), m.width, true), "\n")...)
	}
	return lines
}

const mostKept = 16 << 10 // bytes at the end of a text: more than fits on a screen

// newest returns that end, in whole characters.
func newest(text string) string { return strings.ToValidUTF8(text[max(0, len(text)-mostKept):], "") }
