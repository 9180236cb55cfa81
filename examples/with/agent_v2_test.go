package with

// Agents of the tests on other versions of ACP than 1.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agent"
	"github.com/acpterm/acpterm/agentproc"
)

// v2Agent runs each prompt as a shell line.
type v2Agent struct{ terminals *agent.Terminals }

func serveV2Agent() {
	m, err := acpterm.NewManager(nil)
	if err != nil {
		panic(err)
	}
	a := &v2Agent{agent.NewTerminals(m, nil)}
	fmt.Println("a line of another program")
	stdio := agentproc.JoinStdio(os.Stdin, os.Stdout)
	handler := a.terminals.Handler(jsonrpc2.HandlerWithError(a.handle))
	<-jsonrpc2.NewConn(context.Background(), agent.NewStream(stdio), handler).DisconnectNotify()
	m.Close()
}

func (a *v2Agent) handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
	switch req.Method {
	case "initialize":
		return map[string]any{"protocolVersion": 2, "capabilities": map[string]any{"session": struct{}{}}}, nil
	case "session/new":
		return map[string]any{"sessionId": "s"}, nil
	case "session/prompt":
		var p struct{ Prompt []struct{ Text string } }
		if err := json.Unmarshal(*req.Params, &p); err != nil {
			return nil, err
		}
		go a.run(ctx, conn, p.Prompt[0].Text)
		return map[string]any{"messageId": "m"}, nil
	}
	return nil, nil
}

func (a *v2Agent) run(ctx context.Context, conn *jsonrpc2.Conn, line string) {
	if line == "leave" {
		os.Exit(3)
	}
	update := func(fields map[string]any) {
		conn.Notify(ctx, "session/update", map[string]any{"sessionId": "s", "update": fields})
	}
	result, err := a.terminals.Run(ctx, agent.ToolCall{
		ID: "call", Request: acpterm.CreateTerminalRequest{SessionID: "s", Command: line},
	})
	if err != nil {
		panic(err)
	}
	params := acpterm.CreateTerminalRequest{SessionID: "s", Command: "true"}
	refusal, _ := errors.AsType[*jsonrpc2.Error](conn.Call(ctx, acpterm.MethodCreate, params, nil))
	text := fmt.Sprintf("%s, %s: %d\n", result.ExitStatus, acpterm.MethodCreate, refusal.Code)
	update(map[string]any{
		"sessionUpdate": "agent_message_chunk", "messageId": "m2", "content": map[string]any{"type": "text", "text": text},
	})
	update(map[string]any{"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"})
}

func serveV3Agent() {
	handler := jsonrpc2.HandlerWithError(func(context.Context, *jsonrpc2.Conn, *jsonrpc2.Request) (any, error) {
		return map[string]any{"protocolVersion": 3}, nil
	})
	stream := agent.NewStream(agentproc.JoinStdio(os.Stdin, os.Stdout))
	<-jsonrpc2.NewConn(context.Background(), stream, handler).DisconnectNotify()
}
