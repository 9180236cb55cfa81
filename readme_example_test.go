//go:build unix

package acpterm_test

// What README.md shows, run. The functions are shown as they are; the examples are what calls them.

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"time"

	"github.com/acpterm/acpterm/audit"
	"github.com/acpterm/acpterm/policy"

	"github.com/acpterm/acpterm"
	"github.com/sourcegraph/jsonrpc2"
)

// serve talks to an agent over its standard input and output. next is the handler you have already.
func serve(ctx context.Context, agentStdio io.ReadWriteCloser, next jsonrpc2.Handler) error {
	m, err := acpterm.NewManager(nil) // one for the whole program, if you like
	if err != nil {
		return err
	}
	defer m.Close()

	h := acpterm.NewHandler(m, &acpterm.HandlerOptions{Next: next}) // one for each connection
	conn := h.Connect(ctx, acpterm.NewStream(agentStdio, nil))      // acpterm.JoinStdio makes agentStdio of two pipes

	initialize := map[string]any{"protocolVersion": 1, "clientCapabilities": h.Capabilities()}
	if err := conn.Call(ctx, "initialize", initialize, nil); err != nil {
		return err
	}
	<-conn.DisconnectNotify() // session/new, session/prompt …; the agent's commands end with the connection
	return h.Close()
}

// A whole client's part of it, with an agent that runs one command and goes.
func ExampleHandler() {
	clientEnd, agentEnd := net.Pipe()
	served := make(chan error)
	go func() { served <- serve(context.Background(), clientEnd, nil) }()

	ctx := context.Background()
	initialized := make(chan struct{})
	agent := jsonrpc2.NewConn(ctx, acpterm.NewStream(agentEnd, nil), jsonrpc2.HandlerWithError(
		func(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
			fmt.Println(req.Method)
			close(initialized)
			return struct{}{}, nil
		}))
	<-initialized
	var created acpterm.CreateTerminalResponse
	var exit acpterm.WaitForTerminalExitResponse
	err := agent.Call(ctx, acpterm.MethodCreate, acpterm.CreateTerminalRequest{SessionID: "s1", Command: "true"}, &created)
	if err == nil {
		err = agent.Call(ctx, acpterm.MethodWaitForExit,
			acpterm.WaitForTerminalExitRequest{SessionID: "s1", TerminalID: created.TerminalID}, &exit)
	}
	fmt.Println(acpterm.TerminalExitStatus(exit), err)
	agent.Close()
	fmt.Println(<-served)
	// Output:
	// initialize
	// exit code 0 <nil>
	// <nil>
}

// direct uses a manager without an agent.
func direct(ctx context.Context) error {
	m, err := acpterm.NewManager(nil)
	if err != nil {
		return err
	}
	defer m.Close()
	t, err := m.Create(ctx, acpterm.CreateTerminalRequest{SessionID: "s1", Command: "go", Args: []string{"list", "."}}, nil)
	if err != nil {
		return err
	}
	for chunk := range t.Follow(ctx, 0) { // live
		fmt.Print(chunk.Text)
	}
	status, err := t.Wait(ctx) // exit code 0, or signal SIGTERM
	fmt.Println(status)
	return err
}

// Use a manager without an agent.
func ExampleManager() {
	if err := direct(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output:
	// github.com/acpterm/acpterm
	// exit code 0
}

// guarded is a manager with everything on that bounds what an agent can do.
func guarded(
	rulesJSON []byte,
	askTheUser func(context.Context, acpterm.Question) acpterm.Answer,
	sandbox acpterm.Sandbox,
	decisions *audit.Log,
) (*acpterm.Manager, error) {
	// {"rules": [{"name": "git", "verdict": "allow", "program": "git", "args": ["status"]}, …]}
	rules, err := policy.ParseRules(rulesJSON)
	if err != nil {
		return nil, err
	}
	programs, err := rules.Compile(nil) // checks each rule's own examples, too
	if err != nil {
		return nil, err
	}
	return acpterm.NewManager(&acpterm.Options{
		RequireSessions: true,
		Policy:          acpterm.Policies{programs, policy.AllowVariables(policy.SafeVariables()...)},
		Approve:         askTheUser, // once, for this session, always, never; cancelled with the request
		Limits:          acpterm.Limits{CPUTime: time.Hour, OpenFiles: 1024, Nice: 5},
		Sandbox:         sandbox,          // bubblewrap.New(nil), on Linux
		Record:          decisions.Record, // audit.Open("audit.json", roots...)
	})
}

// Bound what an agent can do.
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
