//go:build unix

package acpterm_test

// Go code shown by the pages in docs, other than code of the example programs.

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/audit"
	"github.com/acpterm/acpterm/policy"
	"github.com/acpterm/acpterm/usershell"
	"github.com/sourcegraph/jsonrpc2"
)

// guarded returns a manager with every guard of docs/policy.md.
func guarded(
	rulesJSON []byte,
	askTheUser func(context.Context, acpterm.Question) acpterm.Answer,
	sandbox acpterm.Sandbox,
	decisions *audit.Log,
) (*acpterm.Manager, error) {
	rules, err := policy.ParseRules(rulesJSON)
	if err != nil {
		return nil, err
	}
	programs, err := rules.Compile(nil) // also checks the examples that rules contain
	if err != nil {
		return nil, err
	}
	return acpterm.NewManager(&acpterm.Options{
		RequireSessions: true,
		Policy:          acpterm.Policies{programs, policy.AllowVariables(policy.SafeVariables()...)},
		Approve:         askTheUser, // answers once, for the session, always or never
		Commands: acpterm.CommandOptions{
			Limits:  &acpterm.Limits{CPUTime: time.Hour, OpenFiles: 1024, Nice: 5},
			Sandbox: sandbox, // from bubblewrap.New, on Linux
		},
		Record: decisions.Record, // from audit.Open
	})
}

// Show what a silent command does.
func ExampleTerminal_Watch() {
	var ctx context.Context
	var t *acpterm.Terminal
	var showBadge func(string, error)

	for a, err := range t.Watch(ctx) {
		showBadge(a.State, err) // "input", "busy" or "idle"
	}
}

// Continue the terminals of an agent that was started again.
func ExampleHandler_TakeOver() {
	var ctx context.Context
	var m *acpterm.Manager
	var session acpterm.SessionID // of the earlier connection
	var dir string
	var connect func(*acpterm.Handler) *jsonrpc2.Conn
	var showAgain func(*acpterm.Terminal)

	h := acpterm.NewHandler(m, &acpterm.HandlerOptions{KeepOnClose: 5 * time.Minute})
	conn := connect(h) // starts the agent again
	for _, t := range h.TakeOver(session) {
		showAgain(t)
	}
	params := map[string]any{"sessionId": session, "cwd": dir, "mcpServers": []any{}}
	if err := conn.Call(ctx, "session/load", params, nil); err != nil {
		m.ReleaseSession(ctx, session) // they are of no use to a new session
	}
}

// Limit an agent's actions.
func ExampleOptions() {
	m, err := guarded([]byte(`{"rules": [{"name": "go", "verdict": "allow", "program": "go", "args": ["version"]}]}`),
		nil, nil, audit.New(io.Discard))
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	err = m.OpenSession("s1", &acpterm.SessionOptions{Roots: []string{os.TempDir()}})
	if err != nil {
		log.Fatal(err)
	}
	try(m, acpterm.CreateTerminalRequest{Command: "go", Args: []string{"version"}})
	try(m, acpterm.CreateTerminalRequest{Command: "go", Args: []string{"env"}})
	// Output:
	// go version: runs
	// go env: acpterm: create: "go env": no rule allows this (rule "default")
}

// Keep the behaviour of a hand-written terminal.
func ExampleManager_OpenSession_moving() {
	m, err := acpterm.NewManager(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	project := os.TempDir()
	bash, err := usershell.KnownShell("bash-login")
	if err != nil {
		log.Fatal(err)
	}
	err = m.OpenSession("s1", &acpterm.SessionOptions{Commands: acpterm.CommandOptions{
		Dir:        project, // for requests without cwd
		Shell:      &bash,
		ShellLines: acpterm.ShellAlways,
		Escalation: []acpterm.EscalationStep{}, // SIGKILL at once
		Timeout:    time.Hour,
	}})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	t, err := m.Create(ctx, acpterm.CreateTerminalRequest{SessionID: "s1", Command: "shopt login_shell"}, nil)
	if err != nil {
		log.Fatal(err)
	}
	t.Wait(ctx)
	fmt.Print(t.Output().Output, t.Info().Command.Dir == project, " ")
	t, err = m.Create(ctx, acpterm.CreateTerminalRequest{SessionID: "s1", Command: "trap '' TERM; sleep 300"}, nil)
	if err != nil {
		log.Fatal(err)
	}
	t.Kill(ctx)
	fmt.Println(t.Wait(ctx))
	// Output:
	// login_shell    	on
	// true signal SIGKILL <nil>
}

// dispatch answers one request of a JSON-RPC library, which calls it in a separate goroutine for each request.
func dispatch(ctx context.Context, h *acpterm.Handler, method string, params json.RawMessage) (any, *jsonrpc2.Error) {
	result, err := h.Dispatch(ctx, method, params)
	if err != nil {
		return nil, acpterm.ResponseError(err) // code, message and data
	}
	return result, nil
}

// Serve an agent with a JSON-RPC library other than jsonrpc2.
func ExampleHandler_Dispatch() {
	m, err := acpterm.NewManager(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	h := acpterm.NewHandler(m, nil)
	defer h.Close()
	_, refused := dispatch(context.Background(), h, acpterm.MethodKill,
		json.RawMessage(`{"sessionId": "s1", "terminalId": "term_1"}`))
	fmt.Println(refused.Code, refused.Message)
	_, refused = dispatch(context.Background(), h, acpterm.MethodCreate,
		json.RawMessage(`{"sessionId": "s1", "command": "ls", "cwd": "src"}`))
	fmt.Println(refused.Code, string(*refused.Data))
	// Output:
	// -32002 acpterm: terminal "term_1": terminal not found
	// -32602 {"kind":"invalid_params","field":"cwd","reason":"must be an absolute path","sessionId":"s1"}
}
