// Package editor is the terminal part of an imaginary editor: what an agent runs is shown while it runs, can be stopped
// by a button, runs only when the user has said so, and stays readable in the conversation for as long as that is open.
// docs/embedding-an-editor.md walks through it.
package editor

// The editor's side of it: one Manager for the program, a Handler for each agent, sessions and their end. pane.go is
// what the user sees of one terminal, ask.go what the user is asked.

import (
	"context"
	"io"
	"sync"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/policy"
)

// UI is what the editor around this has to have. Its methods are called concurrently.
type UI interface {
	// Draw draws a pane that has changed. It may take as long as a frame takes.
	Draw(*Pane)
	// Ask shows a dialog and returns the button that was pressed, one of choices. When ctx ends it takes the dialog
	// away, and what it returns counts for nothing.
	Ask(ctx context.Context, question string, choices []string) string
}

// Editor is the editor. All methods may be called concurrently.
type Editor struct {
	ui      UI
	manager *acpterm.Manager

	busy sync.WaitGroup // the goroutines of panes

	mu    sync.Mutex
	panes map[acpterm.TerminalID]*Pane
}

// New makes the editor, with what may run without a question.
func New(ui UI, rules policy.Rules) (*Editor, error) {
	e := &Editor{ui: ui, panes: make(map[acpterm.TerminalID]*Pane)}
	rules.Default, rules.ShellLines = acpterm.VerdictAsk, acpterm.VerdictAsk
	programs, err := rules.Compile(nil)
	if err != nil {
		return nil, err
	}
	variables := policy.AllowVariables(policy.SafeVariables()...)
	e.manager, err = acpterm.NewManager(&acpterm.Options{
		RequireSessions: true,
		Policy:          acpterm.Policies{programs, variables},
		Approve:         e.approve,
	})
	return e, err
}

// Connect begins to talk to an agent. next serves all that is not terminal/*: session/update,
// session/request_permission. The agent's terminals are released when its connection ends.
func (e *Editor) Connect(ctx context.Context, agentStdio io.ReadWriteCloser, next jsonrpc2.Handler) (*jsonrpc2.Conn, error) {
	h := acpterm.NewHandler(e.manager, &acpterm.HandlerOptions{Next: next, Created: e.show})
	conn := h.Connect(ctx, acpterm.NewStream(agentStdio, nil), jsonrpc2.OnRecv(e.openNewSession))
	initialize := map[string]any{"protocolVersion": 1, "clientCapabilities": h.Capabilities()}
	if err := conn.Call(ctx, "initialize", initialize, nil); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// show makes the pane of a terminal. The agent hears of the terminal after this, so that its tool call finds the pane.
func (e *Editor) show(t *acpterm.Terminal) {
	p := &Pane{terminal: t, ui: e.ui, busy: &e.busy}
	e.mu.Lock()
	e.panes[t.ID()] = p
	e.mu.Unlock()
	e.busy.Go(p.follow)
	e.busy.Go(p.awaitEnd)
}

// Pane is what a tool call shows whose content is {"type": "terminal", "terminalId": …}: also after the agent has
// released the terminal. It is nil for an id that no agent here was given.
func (e *Editor) Pane(id acpterm.TerminalID) *Pane {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.panes[id]
}

// CloseConversation ends a session: what it runs, what was approved in it, and its panes.
func (e *Editor) CloseConversation(ctx context.Context, id acpterm.SessionID) error {
	err := e.manager.CloseSession(ctx, id)
	e.mu.Lock()
	defer e.mu.Unlock()
	for terminal, p := range e.panes {
		if p.terminal.SessionID() == id {
			delete(e.panes, terminal)
		}
	}
	return err
}

// Quit ends all commands of all agents, gently until ctx ends and then by force, and returns when they are gone and the
// panes have drawn their last.
func (e *Editor) Quit(ctx context.Context) error {
	e.manager.Shutdown(ctx)
	err := e.manager.Close() // kills what still runs
	e.busy.Wait()
	return err
}
