//go:build unix

package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"strings"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agent"
	"github.com/sourcegraph/jsonrpc2"
)

// dial makes a connection to a client. A real agent already has one, on its standard input and output:
//
//	conn := jsonrpc2.NewConn(ctx, agent.NewStream(agentproc.JoinStdio(os.Stdin, os.Stdout)), jsonrpc2.AsyncHandler(handler))
func dial() (conn *jsonrpc2.Conn, hangUp func()) {
	clientEnd, agentEnd := net.Pipe()
	m, err := acpterm.NewManager(nil)
	if err != nil {
		log.Fatal(err)
	}
	h := acpterm.NewHandler(m, nil)
	jsonrpc2.NewConn(context.Background(), jsonrpc2.NewPlainObjectStream(h.Filter(context.Background(), clientEnd)), h)
	conn = jsonrpc2.NewConn(context.Background(), agent.NewStream(agentEnd), nil)
	return conn, func() {
		conn.Close()
		m.Close()
	}
}

// Run a command that may take too long.
func ExampleClient_Run() {
	conn, hangUp := dial()
	defer hangUp()

	// The params of the initialize request.
	caps, err := agent.ReadClientCapabilities([]byte(`{"protocolVersion":1,"clientCapabilities":{"terminal":true}}`))
	if err != nil {
		log.Fatal(err)
	}
	c := agent.NewClient(conn, caps, nil)
	for _, run := range []struct {
		command string
		timeout time.Duration
	}{{"echo well; exit 2", time.Minute}, {"sleep 3600", time.Second}} {
		result, err := c.Run(context.Background(), acpterm.CreateTerminalRequest{SessionID: "s1", Command: run.command},
			agent.RunOptions{Timeout: run.timeout})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s, %s: %q\n", result.Outcome, result.ExitStatus, result.Output)
	}
	// Output:
	// completed, exit code 2: "well\n"
	// timed out, signal SIGTERM: ""
}

// Show a terminal in a tool call while its command runs.
func ExampleTerminal_Content() {
	conn, hangUp := dial()
	defer hangUp()

	ctx := context.Background()
	c := agent.NewClient(conn, acpterm.ClientCapabilities{Terminal: true}, nil)
	err := c.Use(ctx, acpterm.CreateTerminalRequest{SessionID: "s1", Command: "echo hello"}, func(t *agent.Terminal) error {
		content, err := json.Marshal([]any{t.Content()})
		if err != nil {
			return err
		}
		// This is sent in a session/update. The id differs each time.
		fmt.Println(strings.ReplaceAll(string(content), string(t.ID()), "term_1"))

		status, err := t.Wait(ctx)
		if err != nil {
			return err
		}
		out, err := t.Output(ctx)
		fmt.Printf("%s: %q\n", status, out.Output)
		return err
	})
	fmt.Println(err)
	// Output:
	// [{"type":"terminal","terminalId":"term_1"}]
	// exit code 0: "hello\n"
	// <nil>
}

// showing is a client without terminals. It shows the terminals of the agent.
type showing struct{}

func (showing) Handle(context.Context, *jsonrpc2.Conn, *jsonrpc2.Request) {}

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
