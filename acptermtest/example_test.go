package acptermtest_test

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"syscall"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/agent"
	"github.com/sourcegraph/jsonrpc2"
)

// Run commands without processes. In a test, create the manager with NewManager(t, options).
func ExampleCommands() {
	m, err := acpterm.NewManager(&acpterm.Options{Runner: acptermtest.Commands{
		"go test ./...": acptermtest.Print("FAIL\n", 1),
		"serve": func(p *acptermtest.Process) int {
			p.Catch(syscall.SIGTERM)
			fmt.Fprintln(p, "serving", p.Command().Dir)
			p.Await()
			fmt.Fprintln(p, "good bye")
			return 0
		},
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	ctx := context.Background()

	t, err := m.Create(ctx, acpterm.CreateTerminalRequest{SessionID: "s1", Command: "go", Args: []string{"test", "./..."}}, nil)
	if err != nil {
		panic(err)
	}
	status, err := t.Wait(ctx)
	fmt.Printf("%s, %v: %s", status, err, t.Output().Output)

	t, err = m.Create(ctx, acpterm.CreateTerminalRequest{SessionID: "s1", Command: "serve", Cwd: "/project"}, nil)
	if err != nil {
		panic(err)
	}
	for chunk := range t.Follow(ctx, 0) {
		fmt.Print(chunk.Text)
		if err := t.Kill(ctx); err != nil { // after its first output
			panic(err)
		}
	}

	_, err = m.Create(ctx, acpterm.CreateTerminalRequest{SessionID: "s1", Command: "cargo"}, nil)
	fmt.Println(err)
	// Output:
	// exit code 1, <nil>: FAIL
	// serving /project
	// good bye
	// acpterm: create: "cargo": command not found: acptermtest: it is in no key of Commands
}

// Record the messages between an agent and its client.
func ExampleRecord() {
	m, err := acpterm.NewManager(&acpterm.Options{Runner: acptermtest.Commands{"date": acptermtest.Print("today\n", 0)}})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	ctx := context.Background()
	clientEnd, agentEnd := net.Pipe()
	transcript := acptermtest.Record(clientEnd)
	h := acpterm.NewHandler(m, nil)
	client := jsonrpc2.NewConn(ctx, jsonrpc2.NewPlainObjectStream(h.Filter(ctx, transcript)), h)
	defer client.Close()
	conn := jsonrpc2.NewConn(ctx, jsonrpc2.NewPlainObjectStream(agentEnd), nil)
	defer conn.Close()

	terminals := agent.NewClient(conn, acpterm.ClientCapabilities{Terminal: true}, nil)
	terminals.Run(ctx, acpterm.CreateTerminalRequest{SessionID: "s1", Command: "date"}, agent.RunOptions{})
	fmt.Fprint(os.Stdout, transcript)
	// Output:
	// agent: {"id":"terminal-1","jsonrpc":"2.0","method":"terminal/create","params":{"sessionId":"s1","command":"date"}}
	// client: {"jsonrpc":"2.0","id":"terminal-1","result":{"terminalId":"term_1"}}
	// agent: {"id":"terminal-2","jsonrpc":"2.0","method":"terminal/wait_for_exit","params":{"sessionId":"s1","terminalId":"term_1"}}
	// client: {"jsonrpc":"2.0","id":"terminal-2","result":{"exitCode":0,"signal":null,"_meta":{"acpterm":{"endedBy":"finished"}}}}
	// agent: {"id":"terminal-3","jsonrpc":"2.0","method":"terminal/output","params":{"sessionId":"s1","terminalId":"term_1"}}
	// client: {"jsonrpc":"2.0","id":"terminal-3","result":{"output":"today\n","truncated":false,"exitStatus":{"exitCode":0,"signal":null,"_meta":{"acpterm":{"endedBy":"finished"}}}}}
	// agent: {"id":"terminal-4","jsonrpc":"2.0","method":"terminal/release","params":{"sessionId":"s1","terminalId":"term_1"}}
	// client: {"jsonrpc":"2.0","id":"terminal-4","result":{}}
}
