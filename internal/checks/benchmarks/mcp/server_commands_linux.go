package main

// mcp-server-commands, whose only tool runs a command and waits for it.

import (
	"context"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type serverCommands struct{ *mcp.ClientSession }

func (serverCommands) tools(s *mcp.ClientSession) tools { return serverCommands{s} }

func (serverCommands) configure(string) (arguments, env []string, err error) { return nil, nil, nil }

func (t serverCommands) run(ctx context.Context, line string) (answer, error) {
	result, a, err := call(ctx, t.ClientSession, "run_command", map[string]any{"command": line})
	if err == nil && result.IsError {
		if at := strings.Index(a.text, "maxBuffer"); at >= 0 {
			a.cut = "stdout " + strings.SplitN(a.text[at:], "exceeded", 2)[0] + "exceeded"
		}
	}
	return a, err
}

func (serverCommands) start(context.Context, string) (string, error) { return "", errNoTool }

// all returns the text of the answer, which is all there is.
func (serverCommands) all(_ context.Context, a answer) (string, int, error) { return a.text, 0, nil }

func (serverCommands) kill(context.Context, string) error       { return errNoTool }
func (serverCommands) commands(context.Context) (string, error) { return "", errNoTool }
