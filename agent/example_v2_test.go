//go:build unix

package agent_test

import (
	"context"
	"fmt"
	"log"
	"net"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agent"
	"github.com/sourcegraph/jsonrpc2"
)

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
