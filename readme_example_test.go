//go:build unix

package acpterm_test

// The Go code of README.md. README.md shows the functions as they are here; the examples call them.

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
	"github.com/sourcegraph/jsonrpc2"
)

// serve starts an agent and answers its terminal/* requests until the connection ends. next gets all other requests.
func serve(ctx context.Context, command *exec.Cmd, next jsonrpc2.Handler) error {
	m, err := acpterm.NewManager(nil) // one for the whole program
	if err != nil {
		return err
	}
	defer m.Close()
	agent, err := acpterm.StartAgent(ctx, command, nil) // what it writes to standard error is logged
	if err != nil {
		return err
	}
	defer agent.Close() // ends its input, and then it, if it does not exit by itself

	h := acpterm.NewHandler(m, &acpterm.HandlerOptions{Next: next}) // one for each connection; next gets other requests
	conn := h.Connect(ctx, acpterm.NewStream(agent, nil))
	initialize := map[string]any{"protocolVersion": 1, "clientCapabilities": h.Capabilities()}
	if err := conn.Call(ctx, "initialize", initialize, nil); err != nil {
		return err
	}
	<-conn.DisconnectNotify() // in a real client: session/new, session/prompt …
	return h.Close()          // returns when the commands of the agent have ended
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
	fmt.Println(serve(context.Background(), agent, nil))
	// Output:
	// {"jsonrpc":"2.0","id":1,"result":{"terminalId":"term_…"}}
	// <nil>
}

// watch shows the output of a command as it arrives, and stops the command.
func watch(ctx context.Context) error {
	m, err := acpterm.NewManager(nil)
	if err != nil {
		return err
	}
	defer m.Close()
	t, err := m.Create(ctx, acpterm.CreateTerminalRequest{SessionID: "s1", Command: "echo ready; sleep 3600"}, nil)
	if err != nil {
		return err
	}
	for chunk := range t.Follow(ctx, 0) { // from the first byte of output
		fmt.Print(chunk.Text)
		if err := t.Kill(ctx); err != nil { // ends the shell and sleep; returns when both are gone
			return err
		}
	}
	status, err := t.Wait(ctx)
	fmt.Println(status) // signal SIGTERM
	return err
}

// Use a manager without an agent.
func ExampleManager() {
	if err := watch(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output:
	// ready
	// signal SIGTERM
}

func TestFailingTests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := acptermtest.NewManager(t, &acpterm.Options{Runner: acptermtest.Commands{
			"go test ./...": acptermtest.Print("FAIL\n", 1), // the output and the exit code
		}})
		request := acpterm.CreateTerminalRequest{SessionID: "s1", Command: "go", Args: []string{"test", "./..."}}
		terminal, err := m.Create(t.Context(), request, nil)
		if err != nil {
			t.Fatal(err)
		}
		status, err := terminal.Wait(t.Context())
		if err != nil || status.String() != "exit code 1" || terminal.Output().Output != "FAIL\n" {
			t.Error(status, err, terminal.Output())
		}
	})
}
