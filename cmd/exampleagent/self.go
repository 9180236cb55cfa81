package exampleagent

// This file runs the agent's own commands. Package agent shows them in the form that the client supports.

import (
	"context"

	"github.com/acpterm/acpterm"
	acpagent "github.com/acpterm/acpterm/agent"
)

// selfPrefix before a command tells the agent to run the command itself.
const selfPrefix = "self:"

// executeItself is like execute, but does not use the client's terminals. It also begins and ends the tool call.
func (t *turn) executeItself(ctx context.Context) (result acpterm.TerminalOutputResponse, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-t.cancelled:
			cancel()
		case <-ctx.Done():
		}
	}()
	command, args := split(t.command)
	ran, err := t.terminals.Run(ctx, acpagent.ToolCall{
		ID: t.toolCallID, Title: t.command, Own: true,
		Request: acpterm.CreateTerminalRequest{SessionID: t.session, Command: command, Args: args, Cwd: t.cwd},
	})
	return acpterm.TerminalOutputResponse{ExitStatus: ran.ExitStatus}, err
}
