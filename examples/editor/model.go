package main

// This file is the bubbletea model: the state of the screen, and how messages and keys change it. view.go draws it.

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/textinput"
	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/acpterm/acpterm"
)

// model is the tea.Model. Only the program's goroutine uses it.
type model struct {
	screen       *screen
	editor       *Editor
	conversation *Conversation
	agent, dir   string   // the agent's name, and the project's directory
	name         string   // of the conversation
	additional   []string // directories
	styles       styles
	keys         map[string]func() tea.Cmd

	state   state
	talk    transcript
	lines   []string  // of talk, as last drawn
	stale   bool      // lines is out of date
	ticking bool      // a tickMsg will come
	dialogs []*dialog // the first one is on the screen
	panes   []*Pane
	chosen  int // the open pane: 0 is the log, 1 is the first of panes

	width, height int
	layout        layout
	input         textinput.Model
	talkView      viewport.Model
	paneView      viewport.Model
}

// state is the state of the conversation.
type state string

const (
	starting   state = "starting"
	ready      state = "ready"
	working    state = "working"
	cancelling state = "cancelling"
	ended      state = "ended"
)

// These messages are the results of commands.
type (
	tickMsg   struct{} // a second has passed
	openedMsg struct{ err error }
	turnMsg   struct {
		stopReason string
		err        error
	}
)

func newModel(screen *screen, editor *Editor, dir string) *model {
	m := &model{screen: screen, editor: editor, dir: dir, state: starting,
		input: textinput.New(), talkView: viewport.New(), paneView: viewport.New()}
	m.input.Prompt = "› "
	m.setStyles(true)
	m.input.SetVirtualCursor(false)
	m.input.Focus()
	m.keys = map[string]func() tea.Cmd{
		"ctrl+c":    func() tea.Cmd { return tea.Quit },
		"enter":     m.send,
		"esc":       m.cancel,
		"tab":       func() tea.Cmd { return m.choose(m.chosen + 1) },
		"shift+tab": func() tea.Cmd { return m.choose(m.chosen - 1) },
		"ctrl+x":    m.stop,
		"pgup":      func() tea.Cmd { m.paneView.PageUp(); return nil },
		"pgdown":    func() tea.Cmd { m.paneView.PageDown(); return nil },
		// Up and Down are for dialogs only.
		"shift+up":   func() tea.Cmd { m.talkView.ScrollUp(1); return nil },
		"shift+down": func() tea.Cmd { m.talkView.ScrollDown(1); return nil },
	}
	return m
}

// setStyles sets the styles for a dark or a light terminal.
func (m *model) setStyles(dark bool) {
	m.styles, m.stale = newStyles(dark), true
	look := textinput.DefaultStyles(dark)
	look.Cursor.Blink = false
	look.Cursor.Color = nil
	look.Focused.Placeholder = m.styles.quiet
	look.Focused.Prompt = m.styles.call.Bold(true)
	m.input.SetStyles(look)
}

// Init opens the session, and asks the terminal for its background. A terminal that does not answer is taken as dark.
func (m *model) Init() tea.Cmd {
	return tea.Batch(tea.RequestBackgroundColor, func() tea.Msg {
		return openedMsg{m.conversation.Open(context.Background(), m.dir, m.additional...)}
	})
}

func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		m.refresh()
	case tea.BackgroundColorMsg:
		m.setStyles(msg.IsDark())
		m.refresh()
	case tickMsg: // the durations have changed
		m.ticking = false
	case frameMsg:
		m.screen.drawing.Store(false)
		m.refresh()
	case sayMsg:
		m.say(entry(msg))
	case titleMsg:
		m.name = string(msg)
	case askMsg:
		m.ask(msg.dialog)
	case withdrawMsg:
		m.withdraw(msg.dialog)
	case openedMsg:
		m.opened(msg.err)
	case turnMsg:
		m.turnEnded(msg)
	case tea.KeyPressMsg:
		cmd = m.key(msg)
	default: // a paste, for instance
		if len(m.dialogs) == 0 {
			m.input, cmd = m.input.Update(msg)
		}
	}
	return m, tea.Batch(cmd, m.tick())
}

// tick sends a tickMsg after a second if durations are shown that change.
func (m *model) tick() tea.Cmd {
	if m.ticking || m.running() == 0 {
		return nil
	}
	m.ticking = true
	return tea.Tick(time.Second, func(time.Time) tea.Msg { return tickMsg{} })
}

func (m *model) key(msg tea.KeyPressMsg) (cmd tea.Cmd) {
	key, ok := m.keys[msg.Keystroke()]
	switch {
	case len(m.dialogs) > 0:
		return m.dialogKey(msg.Keystroke())
	case ok:
		return key()
	}
	m.input, cmd = m.input.Update(msg)
	return cmd
}

func (m *model) say(e entry) {
	m.talk.add(e)
	m.stale = true
	m.screen.changed()
}

// opened is called when the session is open or cannot be opened.
func (m *model) opened(err error) {
	m.state = ready
	if err != nil {
		m.failed(err)
	}
	m.screen.changed()
}

// failed marks the end of the conversation. The conversation itself reports how an agent ended.
func (m *model) failed(err error) {
	m.state = ended
	if !errors.Is(err, errAgentEnded) {
		m.say(entry{by: theEditor, text: err.Error()})
	}
}

func (m *model) send() tea.Cmd {
	text := strings.TrimSpace(m.input.Value())
	if text == "" || m.state != ready {
		return nil
	}
	m.input.Reset()
	m.talkView.GotoBottom()
	m.say(entry{by: theUser, text: text})
	m.state = working
	prompt := m.conversation.Prompt(text)
	return func() tea.Msg {
		stopReason, err := prompt(context.Background())
		return turnMsg{stopReason, err}
	}
}

func (m *model) turnEnded(turn turnMsg) {
	m.state = ready
	switch {
	case errors.Is(turn.err, errAgentEnded):
		m.failed(turn.err)
	case turn.err != nil: // the next prompt may succeed
		m.say(entry{by: theEditor, text: turn.err.Error()})
	case turn.stopReason != "end_turn":
		m.say(entry{by: theEditor, text: "The turn has ended: " + turn.stopReason})
	}
	m.screen.changed()
}

// cancel cancels the turn, and withdraws the dialogs.
func (m *model) cancel() tea.Cmd {
	switch {
	case m.state == working:
		m.state = cancelling
	case len(m.dialogs) == 0:
		return nil
	}
	m.conversation.Cancel()
	return nil
}

// stop stops the command in the open pane.
func (m *model) stop() tea.Cmd {
	if m.chosen > 0 {
		m.panes[m.chosen-1].Stop()
	}
	return nil
}

// choose opens a pane, and scrolls to its end.
func (m *model) choose(n int) tea.Cmd {
	all := len(m.panes) + 1
	m.chosen = (n + all) % all
	m.refresh()
	m.paneView.GotoBottom()
	return nil
}

// refresh redraws everything that may have changed. Views at their end stay there. It opens a new pane unless the user
// is watching a running command.
func (m *model) refresh() {
	if panes := m.editor.Panes(); len(panes) > len(m.panes) {
		idle := m.chosen == 0 || !m.panes[m.chosen-1].Running()
		m.panes, m.stale = panes, true // tool calls show the numbers of panes
		if idle {
			m.chosen = len(panes)
			m.paneView.GotoBottom()
		}
	}
	old := m.layout.talkWidth
	m.layout = m.newLayout()
	m.input.SetWidth(max(1, m.width-ansi.StringWidth(m.input.Prompt)-1))
	talkWidth, paneWidth := m.layout.talkWidth, m.layout.paneWidth
	if m.stale || talkWidth != old {
		m.lines, m.stale = m.talk.lines(m.styles, talkWidth, m.number), false
	}
	show(&m.talkView, m.lines, talkWidth, m.layout.talk)
	show(&m.paneView, fold(outputLines(m.chosenText()), paneWidth), paneWidth, m.layout.open)
}

// show puts lines into a view.
func show(v *viewport.Model, lines []string, width, height int) {
	atEnd := v.AtBottom()
	v.SetWidth(width)
	v.SetHeight(height)
	v.SetContentLines(lines)
	if atEnd {
		v.GotoBottom()
	}
}

func (m *model) chosenText() string {
	if m.chosen == 0 {
		return m.screen.log.text()
	}
	text, _ := m.panes[m.chosen-1].Text()
	return text
}

// number returns the number of a terminal's pane, or 0.
func (m *model) number(id acpterm.TerminalID) int {
	return slices.Index(m.panes, m.editor.Pane(m.conversation.session(), id)) + 1
}
