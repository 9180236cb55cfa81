//go:build unix

package acpterm_test

// Go code of README.md, which shows it as it is here. The clients that README.md shows are in examples/with.

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"testing"
	"testing/synctest"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/agentproc"
	"github.com/acpterm/acpterm/display"
	"github.com/sourcegraph/jsonrpc2"
)

// serve starts an agent and lets talk prompt it. yours handles the agent's other requests; show is called with each
// terminal.
func serve(ctx context.Context, command *exec.Cmd, yours jsonrpc2.Handler, show func(*acpterm.Terminal),
	talk func(*jsonrpc2.Conn) error) error {
	m, err := acpterm.NewManager(nil) // one for the whole program
	if err != nil {
		return err
	}
	defer m.Close()
	agent, err := agentproc.Start(ctx, command, nil)
	if err != nil {
		return err
	}
	defer agent.Close() // a graceful shutdown of the agent
	h := acpterm.NewHandler(m, &acpterm.HandlerOptions{Created: show})
	rest := h.Filter(ctx, agent) // serves terminal/*; rest is the connection for your JSON-RPC library
	conn := jsonrpc2.NewConn(ctx, jsonrpc2.NewPlainObjectStream(rest), yours)
	initialize := map[string]any{"protocolVersion": 1, "clientCapabilities": h.Capabilities()}
	if err := conn.Call(ctx, "initialize", initialize, nil); err != nil {
		return err
	}
	if err := talk(conn); err != nil { // session/new, session/prompt …
		return err
	}
	return h.Close() // ends the agent's commands
}

// An agent that runs one command and exits. It is a shell script, so that it fits here.
func ExampleHandler() {
	agent := exec.Command("sh", "-c", `
		answer() { sed 's/"term_[^"]*"/"term_…"/' >&2; }
		read -r initialize
		echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}'
		echo '{"jsonrpc":"2.0","id":1,"method":"terminal/create","params":{"sessionId":"s1","command":"echo hello"}}'
		read -r created
		echo "$created" | answer`)
	agent.Stderr = os.Stdout
	created := func(t *acpterm.Terminal) { fmt.Println("created:", t.Command()) }
	untilItEnds := func(conn *jsonrpc2.Conn) error {
		<-conn.DisconnectNotify()
		return nil
	}
	none := jsonrpc2.HandlerWithError(func(context.Context, *jsonrpc2.Conn, *jsonrpc2.Request) (any, error) {
		return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound}
	})
	fmt.Println(serve(context.Background(), agent, none, created, untilItEnds))
	// Output:
	// created: echo hello
	// {"jsonrpc":"2.0","id":1,"result":{"terminalId":"term_…"}}
	// <nil>
}

// watch shows what a command writes, as it arrives, and stops the command when stop ends.
func watch(ctx, stop context.Context, t *acpterm.Terminal) (acpterm.TerminalExitStatus, error) {
	defer context.AfterFunc(stop, func() { t.Kill(ctx) })() // ends the command and all that it started
	display.Follow(ctx, os.Stdout, t)                       // or range over t.Follow(ctx, 0)
	return t.Wait(ctx)
}

// Use a manager without an agent.
func ExampleManager() {
	m, err := acpterm.NewManager(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	ctx := context.Background()
	request := acpterm.CreateTerminalRequest{SessionID: "s1", Command: "echo ready; sleep 3600"}
	t, err := m.Create(ctx, request, nil)
	if err != nil {
		log.Fatal(err)
	}
	stop, press := context.WithCancel(ctx)
	go func() {
		for range t.Follow(ctx, 0) {
			press() // it has written that it is ready
			return
		}
	}()
	fmt.Println(watch(ctx, stop, t))
	// Output:
	// ready
	// signal SIGTERM <nil>
}

func TestFailingTests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		commands := acptermtest.Commands{"go test ./...": acptermtest.Print("FAIL\n", 1)} // output and exit code
		m := acptermtest.NewManager(t, &acpterm.Options{Runner: commands})                // closed when the test ends
		terminal, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s1", Command: "go test ./..."}, nil)
		if err != nil {
			t.Fatal(err)
		}
		status, err := terminal.Wait(t.Context())
		if err != nil || status.String() != "exit code 1" || terminal.Output().Output != "FAIL\n" {
			t.Error(status, err, terminal.Output())
		}
	})
}
