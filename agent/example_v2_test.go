//go:build unix

package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agent"
	"github.com/sourcegraph/jsonrpc2"
)

// showing is a client without terminals. It shows the terminals of the agent.
type showing struct{}

func (showing) Handle(context.Context, *jsonrpc2.Conn, *jsonrpc2.Request) {}

// prompted is an agent without a model. A prompt is the command that it runs.
type prompted struct{ terminals *agent.Terminals }

// connectAgent creates the agent, then the handler, and then the connection. The Terminals get the connection and the
// client's capabilities from the first message.
func connectAgent(stdio io.ReadWriteCloser, m *acpterm.Manager) *jsonrpc2.Conn {
	a := &prompted{agent.NewTerminals(m, nil)}
	handler := a.terminals.Handler(jsonrpc2.AsyncHandler(a))
	return jsonrpc2.NewConn(context.Background(), agent.NewStream(stdio), handler)
}

func (a *prompted) Handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	switch req.Method {
	case "initialize":
		conn.Reply(ctx, req.ID, map[string]any{"protocolVersion": 1}) // or 2
	case "session/prompt":
		var params struct {
			SessionID acpterm.SessionID
			Prompt    []struct{ Text string }
		}
		if err := json.Unmarshal(*req.Params, &params); err != nil {
			log.Fatal(err)
		}
		result, err := a.terminals.Run(ctx, agent.ToolCall{
			ID: "call_1", Timeout: time.Minute,
			Request: acpterm.CreateTerminalRequest{SessionID: params.SessionID, Command: params.Prompt[0].Text},
		})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s, %s: %q\n", result.Outcome, result.ExitStatus, result.Output)
		conn.Reply(ctx, req.ID, map[string]string{"stopReason": "end_turn"})
	}
}

// An agent uses the terminals of its client, or otherwise its own. The clients receive different messages, but the
// result is the same.
func ExampleTerminals() {
	own, err := acpterm.NewManager(&acpterm.Options{Commands: acpterm.CommandOptions{Env: []string{"RUNS=agent"}}})
	if err != nil {
		log.Fatal(err)
	}
	defer own.Close()
	clients, err := acpterm.NewManager(&acpterm.Options{Commands: acpterm.CommandOptions{Env: []string{"RUNS=client"}}})
	if err != nil {
		log.Fatal(err)
	}
	defer clients.Close()
	for _, initialize := range []string{
		`{"protocolVersion":1,"clientCapabilities":{"terminal":true}}`,
		`{"protocolVersion":1,"clientCapabilities":{"_meta":{"terminal_output":true}}}`,
		`{"protocolVersion":1}`,
		`{"protocolVersion":2,"info":{"name":"client","version":"1"}}`,
	} {
		clientEnd, agentEnd := net.Pipe()
		conn := connectAgent(agentEnd, own)
		h := acpterm.NewHandler(clients, &acpterm.HandlerOptions{Next: showing{}})
		client := jsonrpc2.NewConn(context.Background(), jsonrpc2.NewPlainObjectStream(h.Filter(context.Background(), clientEnd)), h)
		for _, call := range [][2]string{
			{"initialize", initialize},
			{"session/prompt", `{"sessionId":"s1","prompt":[{"type":"text","text":"echo by the $RUNS; exit 2"}]}`},
		} {
			if err := client.Call(context.Background(), call[0], json.RawMessage(call[1]), nil); err != nil {
				log.Fatal(err)
			}
		}
		client.Close()
		conn.Close()
	}
	// Output:
	// completed, exit code 2: "by the client\n"
	// completed, exit code 2: "by the agent\n"
	// completed, exit code 2: "by the agent\n"
	// completed, exit code 2: "by the agent\n"
}

// Report a terminal to a client of ACP v2, which cancels it.
func ExampleReporter() {
	m, err := acpterm.NewManager(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	clientEnd, agentEnd := net.Pipe()
	client := jsonrpc2.NewConn(context.Background(), jsonrpc2.NewPlainObjectStream(clientEnd), showing{})
	defer client.Close()

	r := agent.NewReporter(nil)
	// A real agent has a handler for the other methods. The first message gives the Reporter its connection.
	conn := jsonrpc2.NewConn(context.Background(), agent.NewStream(agentEnd), r.Handler(nil))
	defer conn.Close()

	ctx := context.Background()
	t, err := m.Create(ctx, acpterm.CreateTerminalRequest{SessionID: "s1", Command: "sleep", Args: []string{"3600"}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	r.Report(t, nil)

	params := map[string]any{"sessionId": "s1", "terminalId": t.ID()}
	if err := client.Call(ctx, "terminal/cancel", params, nil); err != nil {
		log.Fatal(err)
	}
	status, err := t.Wait(ctx)
	fmt.Println(status, err)
	// Output: signal SIGTERM <nil>
}
