package exampleagent

// Commands that the agent runs itself. By the _meta convention of agents on ACP v1 a tool call announces a terminal
// that has its id, and updates of the tool call have what the command prints and how it ended.

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/acpterm/acpterm"
)

// selfPrefix, before a command, has the agent run it itself.
const selfPrefix = "self:"

// showsOwn reports whether a client shows what the agent runs itself.
func showsOwn(c acpterm.ClientCapabilities) bool {
	var shows bool
	return json.Unmarshal(c.Meta["terminal_output"], &shows) == nil && shows
}

// announce has a tool call announce the terminal.
func (t *turn) announce(u *update) {
	u.Content = []terminalContent{{"terminal", acpterm.TerminalID(t.toolCallID)}}
	u.Meta = t.meta("terminal_info", map[string]any{"cwd": t.cwd})
}

// executeItself is execute without the client's terminals.
func (t *turn) executeItself(ctx context.Context) (result acpterm.TerminalOutputResponse, err error) {
	m, err := acpterm.NewManager(nil)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	command, args := split(t.command)
	term, err := m.Create(ctx, acpterm.CreateTerminalRequest{
		SessionID: t.session, Command: command, Args: args, Cwd: t.cwd,
	}, nil)
	if err != nil {
		return result, err
	}
	go func() {
		select {
		case <-t.cancelled:
		case <-t.conn.DisconnectNotify():
			m.Close() // at once: the client ends the agent
		case <-term.Done():
		}
		term.Kill(ctx) // also what the command has left in the background
	}()
	tell := update{Kind: "tool_call_update", ToolCallID: t.toolCallID, Status: "in_progress"}
	if err := t.update(ctx, tell); err != nil {
		return result, err
	}
	tell.Status = ""
	for chunk := range term.Follow(ctx, 0) {
		tell.Meta = t.meta("terminal_output", map[string]any{"data": chunk.Text})
		if err := t.update(ctx, tell); err != nil {
			return result, err
		}
	}
	status, err := term.Wait(ctx)
	if err == nil {
		t.end = t.meta("terminal_exit", map[string]any{"exit_code": status.ExitCode, "signal": status.Signal})
	}
	return acpterm.TerminalOutputResponse{ExitStatus: &status}, err
}

// meta is the _meta of an update that says something of the terminal.
func (t *turn) meta(key string, members map[string]any) map[string]any {
	members["terminal_id"] = t.toolCallID
	return map[string]any{key: members}
}
