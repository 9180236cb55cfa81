package main

// This file is the editor's side of acpterm. One Manager for the program runs the agents' commands and asks the user
// first, and each terminal gets a pane. conversation.go talks to an agent, pane.go shows one terminal, and ask.go asks
// the user. None of these files depends on how the screen is drawn: UI hides that.

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/mcpserver"
	"github.com/acpterm/acpterm/permission"
	"github.com/acpterm/acpterm/policy"
)

// UI is the editor's screen, as the other files use it. Its methods are called concurrently.
type UI interface {
	// Draw draws a changed pane. It may take as long as a frame.
	Draw(*Pane)
	// Ask shows a dialog and returns the index of the user's choice. When ctx is done, it removes the dialog and
	// returns noAnswer.
	Ask(ctx context.Context, d Dialog) int
	// Say adds text to the conversation. Consecutive texts of the agent are one text.
	Say(by speaker, text string)
	// ShowToolCall adds a tool call to the conversation, or replaces the one with its ID.
	ShowToolCall(ToolCall)
	// Title shows the name of the conversation.
	Title(name string)
	// Log shows a line of the agent's standard error.
	Log(line string)
}

// speaker is the author of a text in a conversation.
type speaker string

const (
	theUser   speaker = "you"
	theAgent  speaker = "agent"
	theEditor speaker = "editor"
)

// Editor is the editor without its screen. All methods are safe for concurrent use.
type Editor struct {
	ui      UI
	manager *acpterm.Manager
	bridge  permission.Bridge   // asks the user only once about a command that the agent announces and then runs
	tools   *mcpserver.Listener // set by OfferTools
	page    *page               // set by ServePage

	busy sync.WaitGroup // the goroutines of panes and conversations

	mu            sync.Mutex
	panes         []*Pane // in order of creation
	conversations []*Conversation
	owners        map[acpterm.SessionID]*Conversation // of MCP sessions
}

// New returns an editor. Commands that rules allow run without a question.
func New(ui UI, rules policy.Rules) (*Editor, error) {
	e := &Editor{ui: ui, owners: make(map[acpterm.SessionID]*Conversation)}
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
		Approve:         approvals.Approve(e.ofConversation(e.bridge.Approve(e.approve))),
	})
	return e, err
}

// show adds a pane for a terminal. The agent hears of the terminal after this, so its tool call finds the pane.
func (c *Conversation) show(t *acpterm.Terminal) {
	e := c.editor
	p := &Pane{terminal: t, conversation: c, ui: e.ui, busy: &e.busy}
	e.mu.Lock()
	e.panes = append(e.panes, p)
	e.mu.Unlock()
	e.busy.Go(p.follow)
	e.busy.Go(p.awaitEnd)
}

// Panes returns all panes in order of creation.
func (e *Editor) Panes() []*Pane {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.panes)
}

// Pane returns the pane for a tool call of a session with the content {"type": "terminal", "terminalId": …}, even after
// the agent has released the terminal. It returns nil if the session has no terminal with this id.
func (e *Editor) Pane(session acpterm.SessionID, id acpterm.TerminalID) *Pane {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, p := range slices.Backward(e.panes) { // an agent may reuse an id for a terminal of its own
		if p.terminal.ID() == id && p.terminal.SessionID() == session {
			return p
		}
	}
	return nil
}

// Running returns the number of running commands.
func (e *Editor) Running() int { return e.manager.Stats().Running }

// forget removes an ended conversation and its panes.
func (e *Editor) forget(c *Conversation) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.conversations = slices.DeleteFunc(e.conversations, func(other *Conversation) bool { return other == c })
	e.panes = slices.DeleteFunc(e.panes, func(p *Pane) bool { return p.conversation == c })
}

// conversation returns the open conversation with this session, which may be an MCP session, or nil.
func (e *Editor) conversation(id acpterm.SessionID) *Conversation {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c := e.owners[id]; c != nil {
		return c
	}
	for _, c := range e.conversations {
		if c.session() == id {
			return c
		}
	}
	return nil
}

// Quit ends all commands and all agents, gracefully until ctx is done and then by force. It returns when they are gone
// and the panes have been drawn for the last time.
func (e *Editor) Quit(ctx context.Context) error {
	e.manager.Shutdown(ctx)
	errs := []error{e.manager.Close()} // kills the remaining commands
	e.mu.Lock()
	open := slices.Clone(e.conversations)
	e.mu.Unlock()
	for _, c := range open {
		errs = append(errs, c.end(ctx))
	}
	if e.tools != nil {
		errs = append(errs, e.tools.Close())
	}
	e.page.close()
	e.busy.Wait()
	return errors.Join(errs...)
}
