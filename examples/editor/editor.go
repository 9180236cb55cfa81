package main

// The editor's side of acpterm: one Manager for the program, which runs what agents ask for, asks the user before, and
// shows each terminal in a pane. conversation.go talks to an agent, pane.go is what the user sees of one terminal,
// ask.go what the user is asked. None of these files depends on how the screen is drawn: that is behind UI.

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/permission"
	"github.com/acpterm/acpterm/policy"
)

// UI is what the editor's screen does for the rest of it. Its methods are called concurrently.
type UI interface {
	// Draw draws a pane that has changed. It may take as long as a frame takes.
	Draw(*Pane)
	// Ask shows a dialog and returns the index of the choice that the user made. When ctx ends it takes the dialog
	// away, and returns noAnswer.
	Ask(ctx context.Context, d Dialog) int
	// Say adds text to the conversation. Texts of the agent in a row are one text.
	Say(by speaker, text string)
	// ShowToolCall adds a tool call to the conversation, or changes the one that has its id.
	ShowToolCall(ToolCall)
	// Log shows a line that the agent wrote to standard error.
	Log(line string)
}

// speaker is who says something in a conversation.
type speaker string

const (
	theUser   speaker = "you"
	theAgent  speaker = "agent"
	theEditor speaker = "editor"
)

// Editor is the editor without its screen. All methods may be called concurrently.
type Editor struct {
	ui      UI
	manager *acpterm.Manager
	bridge  permission.Bridge // has the user asked once for what an agent announces and then runs

	busy sync.WaitGroup // the goroutines of panes and conversations

	mu            sync.Mutex
	panes         []*Pane // in the order in which they were made
	conversations []*Conversation
}

// New makes the editor, with what may run without a question.
func New(ui UI, rules policy.Rules) (*Editor, error) {
	e := &Editor{ui: ui}
	rules.Default, rules.ShellLines = acpterm.VerdictAsk, acpterm.VerdictAsk
	programs, err := rules.Compile(nil)
	if err != nil {
		return nil, err
	}
	variables := policy.AllowVariables(policy.SafeVariables()...)
	var approvals policy.Approvals
	e.manager, err = acpterm.NewManager(&acpterm.Options{
		RequireSessions: true,
		Policy:          approvals.Policy(acpterm.Policies{programs, variables}),
		Approve:         approvals.Approve(e.bridge.Approve(e.approve)),
	})
	return e, err
}

// show makes the pane of a terminal. The agent hears of the terminal after this, so that its tool call finds the pane.
func (e *Editor) show(t *acpterm.Terminal) {
	p := &Pane{terminal: t, ui: e.ui, busy: &e.busy}
	e.mu.Lock()
	e.panes = append(e.panes, p)
	e.mu.Unlock()
	e.busy.Go(p.follow)
	e.busy.Go(p.awaitEnd)
}

// Panes are all panes, in the order in which they were made.
func (e *Editor) Panes() []*Pane {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.panes)
}

// Pane is what a tool call of a session shows whose content is {"type": "terminal", "terminalId": …}: also after the
// agent has released the terminal. It is nil for an id that the session has no terminal of.
func (e *Editor) Pane(session acpterm.SessionID, id acpterm.TerminalID) *Pane {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, p := range slices.Backward(e.panes) { // an agent may give an id again to a terminal of its own
		if p.terminal.ID() == id && p.terminal.SessionID() == session {
			return p
		}
	}
	return nil
}

// Running is how many commands run.
func (e *Editor) Running() int { return e.manager.Stats().Running }

// forget drops a conversation that has ended, with its panes.
func (e *Editor) forget(c *Conversation) {
	id := c.session()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.conversations = slices.DeleteFunc(e.conversations, func(other *Conversation) bool { return other == c })
	e.panes = slices.DeleteFunc(e.panes, func(p *Pane) bool { return p.terminal.SessionID() == id })
}

// conversation is the open one with this session, or nil.
func (e *Editor) conversation(id acpterm.SessionID) *Conversation {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.conversations {
		if c.session() == id {
			return c
		}
	}
	return nil
}

// Quit ends all commands of all agents and the agents, gently until ctx ends and then by force, and returns when they
// are gone and the panes have drawn their last.
func (e *Editor) Quit(ctx context.Context) error {
	e.manager.Shutdown(ctx)
	errs := []error{e.manager.Close()} // kills what still runs
	e.mu.Lock()
	open := slices.Clone(e.conversations)
	e.mu.Unlock()
	for _, c := range open {
		errs = append(errs, c.end(ctx))
	}
	e.busy.Wait()
	return errors.Join(errs...)
}
