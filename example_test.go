//go:build unix

package acpterm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net"
	"strings"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/sourcegraph/jsonrpc2"
)

// Run a command directly.
func Example() {
	m, err := acpterm.NewManager(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()

	ctx := context.Background()
	t, err := m.Create(ctx, acpterm.CreateTerminalRequest{SessionID: "s1", Command: "echo", Args: []string{"hello"}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	status, err := t.Wait(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %q\n", status, t.Output().Output)
	// Output: exit code 0: "hello\n"
}

// Wire a manager into a jsonrpc2 connection. Here the agent is at the other end of a pipe in memory.
func ExampleNewHandler() {
	m, err := acpterm.NewManager(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	ctx := context.Background()

	clientEnd, agentEnd := net.Pipe()
	h := acpterm.NewHandler(m, nil)
	rest := jsonrpc2.NewPlainObjectStream(h.Filter(ctx, clientEnd))
	yours := jsonrpc2.HandlerWithError(func(context.Context, *jsonrpc2.Conn, *jsonrpc2.Request) (any, error) {
		return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: "a client handles session/update here"}
	})
	client := jsonrpc2.NewConn(ctx, rest, yours)
	defer client.Close()

	agent := jsonrpc2.NewConn(ctx, jsonrpc2.NewPlainObjectStream(agentEnd), nil)
	defer agent.Close()
	var created acpterm.CreateTerminalResponse
	err = agent.Call(ctx, acpterm.MethodCreate, json.RawMessage(`{"sessionId": "s1", "command": "exit 3"}`), &created)
	if err != nil {
		log.Fatal(err)
	}
	var exit json.RawMessage
	err = agent.Call(ctx, acpterm.MethodWaitForExit,
		acpterm.TerminalRequest{SessionID: "s1", TerminalID: created.TerminalID}, &exit)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(exit))
	// Output: {"exitCode":3,"signal":null,"_meta":{"acpterm":{"endedBy":"finished"}}}
}

// Show output while the command runs.
func ExampleTerminal_Follow() {
	m, err := acpterm.NewManager(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()

	ctx := context.Background()
	t, err := m.Create(ctx, acpterm.CreateTerminalRequest{SessionID: "s1", Command: "echo one; echo two"}, nil)
	if err != nil {
		log.Fatal(err)
	}
	var shown strings.Builder
	for chunk := range t.Follow(ctx, 0) {
		if chunk.Missed > 0 {
			fmt.Fprintf(&shown, "[%d bytes were not kept]", chunk.Missed)
		}
		shown.WriteString(chunk.Text)
	}
	fmt.Print(shown.String())
	// Output:
	// one
	// two
}

// Keep only the end of the output.
func ExampleTerminal_Output() {
	m, err := acpterm.NewManager(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()

	ctx := context.Background()
	t, err := m.Create(ctx, acpterm.CreateTerminalRequest{
		SessionID: "s1", Command: "printf", Args: []string{"crème brûlée"}, OutputByteLimit: new(uint64(5)),
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	t.Wait(ctx)
	out := t.Output()
	fmt.Printf("%q, truncated: %t\n", out.Output, out.Truncated)
	// Output: "lée", truncated: true
}

// End a command that takes too long.
func ExampleCommandOptions() {
	m, err := acpterm.NewManager(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()

	ctx := context.Background()
	t, err := m.Create(ctx, acpterm.CreateTerminalRequest{SessionID: "s1", Command: "sleep 3600"},
		&acpterm.CommandOptions{Timeout: 10 * time.Millisecond})
	if err != nil {
		log.Fatal(err)
	}
	status, err := t.Wait(ctx)
	fmt.Println(t.EndedBy(), status, err)
	// Output: timed_out signal SIGTERM <nil>
}

// End a command with everything it has started, including background processes.
func ExampleTerminal_Kill() {
	m, err := acpterm.NewManager(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()

	ctx := context.Background()
	t, err := m.Create(ctx, acpterm.CreateTerminalRequest{SessionID: "s1", Command: "sleep 3600 & sleep 3600; echo never"}, nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := t.Kill(ctx); err != nil { // when it returns, the whole tree is gone
		log.Fatal(err)
	}
	status, err := t.Wait(ctx)
	fmt.Println(t.EndedBy(), status, err)
	// Output: killed signal SIGTERM <nil>
}

// Examine an error.
func ExampleError() {
	m, err := acpterm.NewManager(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()

	_, err = m.Create(context.Background(), acpterm.CreateTerminalRequest{SessionID: "s1", Command: "no-such-program"}, nil)
	fmt.Println(errors.Is(err, acpterm.ErrCommandNotFound))
	fmt.Println(err)

	_, err = m.Create(context.Background(), acpterm.CreateTerminalRequest{SessionID: "s1", Command: "ls", Cwd: "src"}, nil)
	if e, ok := errors.AsType[*acpterm.Error](err); ok {
		fmt.Println(e.Kind, "in", e.Field)
	}
	fmt.Println(acpterm.ResponseError(err).Code)
	// Output:
	// true
	// acpterm: create: "no-such-program": command not found
	// invalid params in cwd
	// -32602
}
