// Package viewtest has the commands of the tests of a view: a script, and an agent that runs commands itself. Only
// tests import it.
package viewtest

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/agentterm"
)

// Steps prints each text that it receives, and ends when the channel is closed.
func Steps(texts <-chan string) acptermtest.Script {
	return func(p *acptermtest.Process) int {
		for {
			select {
			case text, more := <-texts:
				if !more {
					return 0
				}
				p.Write([]byte(text))
			case <-p.Context().Done():
				return 1
			}
		}
	}
}

type members = map[string]any

// Agent sends the updates of an agent that runs commands itself.
type Agent struct {
	*acpterm.Handler
	t         testing.TB
	terminals *agentterm.Terminals
	m         *acpterm.Manager
}

// NewAgent returns an Agent whose terminals are in a Manager. It refuses each cancel unless options.Cancel is set.
func NewAgent(t testing.TB, m *acpterm.Manager, options agentterm.Options) *Agent {
	if options.Cancel == nil {
		options.Cancel = func(context.Context, acpterm.TerminalRequest) error { return errors.New("not now") }
	}
	h := acpterm.NewHandler(m, nil)
	return &Agent{h, t, agentterm.New(h, &options), m}
}

// Answer returns an Options.Cancel that waits for its result.
func Answer(answers <-chan error) func(context.Context, acpterm.TerminalRequest) error {
	return func(ctx context.Context, _ acpterm.TerminalRequest) error {
		select {
		case err := <-answers:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Update sends some members of a session's terminal, and returns the terminal.
func (a *Agent) Update(session acpterm.SessionID, id acpterm.TerminalID, more members) *acpterm.Terminal {
	a.t.Helper()
	update := members{"sessionUpdate": "terminal_update", "terminalId": id}
	maps.Copy(update, more)
	params, err := json.Marshal(members{"sessionId": session, "update": update})
	require.NoError(a.t, err)
	about, err := a.terminals.Update(params)
	require.NoError(a.t, err)
	require.Equal(a.t, []acpterm.TerminalID{id}, about)
	terminal, err := a.m.Terminal(session, id)
	require.NoError(a.t, err)
	return terminal
}

// Print sends output.
func (a *Agent) Print(session acpterm.SessionID, id acpterm.TerminalID, text string) *acpterm.Terminal {
	a.t.Helper()
	return a.Update(session, id, members{"sessionUpdate": "terminal_output_chunk", "data": []byte(text)})
}

// Snapshot replaces the output.
func Snapshot(text string) members { return members{"output": members{"data": []byte(text)}} }
