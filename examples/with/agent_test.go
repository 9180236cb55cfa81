package with

// An agent of the tests: the test binary, speaking sourcegraph/jsonrpc2 by way of acpterm/agent. A prompt is the name of
// what it is to do.

import (
	"context"
	"encoding/json"
	"os"
	"strings"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agent"
	"github.com/acpterm/acpterm/agentproc"
)

// testAgent is the agent's end of its connection.
type testAgent struct{ client *agent.Client }

// steering clears the screen of a terminal that gets it.
const steering = "X\x1b[2J\r"

func serveTestAgent() {
	a := new(testAgent)
	stdio := agentproc.JoinStdio(os.Stdin, os.Stdout) // seen from here, what is read from is the input
	handler := jsonrpc2.AsyncHandler(jsonrpc2.HandlerWithError(a.handle))
	<-jsonrpc2.NewConn(context.Background(), agent.NewStream(stdio), handler).DisconnectNotify()
}

func (a *testAgent) handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
	switch req.Method {
	case "initialize":
		capabilities, err := agent.ReadClientCapabilities(*req.Params)
		a.client = agent.NewClient(conn, capabilities, nil)
		return map[string]any{"protocolVersion": 1}, err
	case "session/new":
		return map[string]any{"sessionId": "s"}, nil
	}
	var p struct{ Prompt []struct{ Text string } }
	if err := json.Unmarshal(*req.Params, &p); err != nil {
		return nil, err
	}
	switch p.Prompt[0].Text {
	case "stop with an escape sequence":
		return map[string]any{"stopReason": steering}, nil
	case "fail with an escape sequence":
		return nil, &jsonrpc2.Error{Code: 1, Message: steering}
	}
	return nil, a.leave(ctx)
}

// leave has a command connect to the address that follows "agent" on the command line, and exits while it runs.
func (a *testAgent) leave(ctx context.Context) error {
	t, err := a.client.Create(ctx, acpterm.CreateTerminalRequest{
		SessionID: "s", Command: os.Args[0], Args: []string{"command", os.Args[2]},
	})
	if err != nil {
		return err
	}
	for {
		if out, err := t.Output(ctx); err != nil || strings.Contains(out.Output, "ready") {
			os.Exit(3)
		}
	}
}
