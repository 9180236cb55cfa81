//go:build unix

package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agent"
	"github.com/sourcegraph/jsonrpc2"
)

// showing is a client that has no terminals: it shows those of the agent.
type showing struct{}

func (showing) Handle(context.Context, *jsonrpc2.Conn, *jsonrpc2.Request) {}

// Run the command of a tool call for any client. What the client is sent differs, the result does not.
func ExampleTerminals_Run() {
	m, err := acpterm.NewManager(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	for _, initialize := range []string{
		`{"protocolVersion":2,"info":{"name":"client","version":"1"}}`,
		`{"protocolVersion":1,"clientCapabilities":{"_meta":{"terminal_output":true}}}`,
		`{"protocolVersion":1}`,
	} {
		clientEnd, agentEnd := net.Pipe()
		client := jsonrpc2.NewConn(context.Background(), acpterm.NewStream(clientEnd, nil), showing{})
		conn := jsonrpc2.NewConn(context.Background(), acpterm.NewStream(agentEnd, nil), nil)
		ts, err := agent.NewTerminals(conn, json.RawMessage(initialize), m, nil)
		if err != nil {
			log.Fatal(err)
		}
		result, err := ts.Run(context.Background(), agent.ToolCall{
			ID: "call_1", Timeout: time.Minute,
			Request: acpterm.CreateTerminalRequest{SessionID: "s1", Command: "echo well; exit 2"},
		})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s, %s: %q\n", result.Outcome, result.ExitStatus, result.Output)
		client.Close()
		conn.Close()
	}
	// Output:
	// completed, exit code 2: "well\n"
	// completed, exit code 2: "well\n"
	// completed, exit code 2: "well\n"
}

// Report a terminal to a client of ACP v2, which cancels it.
func ExampleReporter() {
	m, err := acpterm.NewManager(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	clientEnd, agentEnd := net.Pipe()
	client := jsonrpc2.NewConn(context.Background(), acpterm.NewStream(clientEnd, nil), showing{})
	defer client.Close()

	var conn *jsonrpc2.Conn
	r := agent.NewReporter(func(ctx context.Context, method string, params any) error {
		return conn.Notify(ctx, method, params)
	}, nil)
	defer r.Close()
	// A real agent has a handler for the other methods.
	conn = jsonrpc2.NewConn(context.Background(), acpterm.NewStream(agentEnd, nil), r.Handler(nil))
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
