//go:build unix

package acpterm_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"strings"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/audit"
	"github.com/acpterm/acpterm/display"
	"github.com/acpterm/acpterm/policy"
)

// try creates a terminal and prints the result.
func try(m *acpterm.Manager, req acpterm.CreateTerminalRequest) {
	req.SessionID = "s1"
	line := strings.Join(append([]string{req.Command}, req.Args...), " ")
	if _, err := m.Create(context.Background(), req, nil); err != nil {
		fmt.Printf("%s: %v\n", line, err)
		return
	}
	fmt.Printf("%s: runs\n", line)
}

// A session has its directories, and no others.
func ExampleManager_OpenSession() {
	m, err := acpterm.NewManager(&acpterm.Options{RequireSessions: true})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	project, err := os.MkdirTemp("", "project-")
	if err != nil {
		panic(err)
	}
	defer os.Remove(project)
	if err := m.OpenSession("s1", &acpterm.SessionOptions{Roots: []string{project}}); err != nil {
		panic(err)
	}
	try(m, acpterm.CreateTerminalRequest{Command: "go", Args: []string{"version"}})
	try(m, acpterm.CreateTerminalRequest{Command: "go", Args: []string{"version"}, Cwd: os.TempDir()})
	_, err = m.Create(context.Background(), acpterm.CreateTerminalRequest{SessionID: "s2", Command: "go"}, nil)
	fmt.Println(err)
	// Output:
	// go version: runs
	// go version: acpterm: create: "go version": cwd is outside of the directories that commands may run in (rule "roots")
	// acpterm: create: session not found
}

// The user is asked, and the answer holds for the session.
func ExampleQuestion() {
	askAboutAll := acpterm.PolicyFunc(func(context.Context, acpterm.Proposal) acpterm.Decision {
		return acpterm.Decision{Verdict: acpterm.VerdictAsk, Rule: "all", Reason: "nothing is allowed by itself"}
	})
	ask := func(_ context.Context, q acpterm.Question) acpterm.Answer {
		fmt.Printf("May the agent run %s? (%s)\n", display.Quote(q.Command.String(), 200), q.Reason)
		return acpterm.Answer{Approval: acpterm.ApprovalSession, By: "the user"}
	}
	var approvals policy.Approvals
	m, err := acpterm.NewManager(&acpterm.Options{
		Policy: approvals.Policy(askAboutAll), Approve: approvals.Approve(ask),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	try(m, acpterm.CreateTerminalRequest{Command: "go", Args: []string{"version"}})
	try(m, acpterm.CreateTerminalRequest{Command: "go", Args: []string{"version"}})
	// Output:
	// May the agent run "go version"? (nothing is allowed by itself)
	// go version: runs
	// go version: runs
}

// The record is lines of JSON. Times and numbers are omitted here.
func ExampleOptions_events() {
	handler := slog.NewJSONHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch a.Key {
		case slog.TimeKey, "terminal", "path", "dir", "level":
			return slog.Attr{}
		}
		return a
	}})
	logged := audit.LogEvents(slog.New(handler))
	m, err := acpterm.NewManager(&acpterm.Options{Policy: policy.AllowVariables()})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	m.Observe(logged)
	m.Create(context.Background(), acpterm.CreateTerminalRequest{SessionID: "s1", Command: "go", Args: []string{"version"},
		Env: []acpterm.EnvVariable{{Name: "TOKEN", Value: "secret"}}}, nil)
	// Output: {"msg":"decision","session":"s1","args":["go","version"],"verdict":"deny","rule":"allow-variables","reason":"the variable \"TOKEN\" must not be set","variables":["TOKEN"],"error":"acpterm: \"go version\": the variable \"TOKEN\" must not be set (rule \"allow-variables\")"}
}
