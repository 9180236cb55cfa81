//go:build unix

package acpterm_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/acpterm/acpterm"
)

// try creates a terminal and says what came of it.
func try(m *acpterm.Manager, req acpterm.CreateTerminalRequest) {
	req.SessionID = "s1"
	line := strings.Join(append([]string{req.Command}, req.Args...), " ")
	if _, err := m.Create(context.Background(), req); err != nil {
		fmt.Printf("%s: %v\n", line, err)
		return
	}
	fmt.Printf("%s: runs\n", line)
}

// What may run is data, with examples that are checked when it is loaded.
func ExampleRules() {
	rules, err := acpterm.ParseRules([]byte(`{"rules": [
		{"name": "go, but not run", "verdict": "allow", "program": "go", "args": ["version", "..."],
			"match": [["go", "version"], ["go", "version", "-m", "x"]], "noMatch": [["go", "run", "."]]},
		{"name": "no toolchains", "verdict": "deny", "reason": "use the one that is here", "program": "go", "anyArg": ["*toolchain*"]}
	]}`))
	if err != nil {
		panic(err)
	}
	policy, err := rules.Policy(nil)
	if err != nil {
		panic(err)
	}
	m := acpterm.NewManager(&acpterm.Options{Policy: policy})
	defer m.Close()
	try(m, acpterm.CreateTerminalRequest{Command: "go", Args: []string{"version"}})
	try(m, acpterm.CreateTerminalRequest{Command: "go", Args: []string{"run", "."}})
	try(m, acpterm.CreateTerminalRequest{Command: "go", Args: []string{"version", "toolchain.txt"}})
	// Output:
	// go version: runs
	// go run .: acpterm: create: no rule allows this
	// go version toolchain.txt: acpterm: create: use the one that is here
}

// A session has its directories, and nobody else's.
func ExampleManager_OpenSession() {
	m := acpterm.NewManager(&acpterm.Options{RequireSessions: true})
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
	_, err = m.Create(context.Background(), acpterm.CreateTerminalRequest{SessionID: "s2", Command: "go"})
	fmt.Println(err)
	// Output:
	// go version: runs
	// go version: acpterm: create: cwd is outside of the directories that commands may run in
	// acpterm: create: session not found
}

func ExampleConfineDir() {
	policy, err := acpterm.ConfineDir(os.TempDir())
	if err != nil {
		panic(err)
	}
	m := acpterm.NewManager(&acpterm.Options{Dir: os.TempDir(), Policy: policy})
	defer m.Close()
	try(m, acpterm.CreateTerminalRequest{Command: "go", Args: []string{"version"}})
	// Output: go version: runs
}

func ExampleNoShell() {
	m := acpterm.NewManager(&acpterm.Options{Policy: acpterm.NoShell()})
	defer m.Close()
	try(m, acpterm.CreateTerminalRequest{Command: "go version && go env"})
	// Output: go version && go env: acpterm: create: shells are not allowed
}

func ExampleNoShellSyntax() {
	m := acpterm.NewManager(&acpterm.Options{Policy: acpterm.NoShellSyntax()})
	defer m.Close()
	try(m, acpterm.CreateTerminalRequest{Command: "go", Args: []string{"version", "; rm x"}})
	// Output: go version ; rm x: acpterm: create: args[1] has shell syntax in it, which is not allowed
}

func ExampleDenyVariables() {
	m := acpterm.NewManager(&acpterm.Options{Policy: acpterm.DenyVariables(acpterm.DangerousVariables()...)})
	defer m.Close()
	try(m, acpterm.CreateTerminalRequest{Command: "go", Args: []string{"version"},
		Env: []acpterm.EnvVariable{{Name: "LD_PRELOAD", Value: "/tmp/x.so"}}})
	// Output: go version: acpterm: create: the variable "LD_PRELOAD" must not be set
}

func ExampleAllowVariables() {
	variables := append(acpterm.SafeVariables(), "MY_PROJECT_*", "GOOS=linux")
	m := acpterm.NewManager(&acpterm.Options{Policy: acpterm.AllowVariables(variables...)})
	defer m.Close()
	for _, set := range []acpterm.EnvVariable{
		{Name: "CI", Value: "1"}, {Name: "GOOS", Value: "linux"},
		{Name: "PAGER", Value: "./x"}, {Name: "GOFLAGS", Value: "-toolexec=./x"},
	} {
		try(m, acpterm.CreateTerminalRequest{Command: "go", Args: []string{"version"}, Env: []acpterm.EnvVariable{set}})
	}
	// Output:
	// go version: runs
	// go version: runs
	// go version: acpterm: create: the variable "PAGER" must not have this value
	// go version: acpterm: create: the variable "GOFLAGS" must not be set
}

// Commands inherit what is named, and nothing else.
func ExampleInheritVariables() {
	env := acpterm.InheritVariables([]string{"PATH=/usr/bin", "LC_ALL=C", "AWS_SECRET=x"}, "PATH", "HOME", "LC_*")
	fmt.Println(env)
	m := acpterm.NewManager(&acpterm.Options{Env: env})
	m.Close()
	// Output: [PATH=/usr/bin LC_ALL=C]
}

// Somebody is asked, and the answer is remembered for the session.
func ExampleQuestion() {
	askAboutAll := acpterm.PolicyFunc(func(context.Context, acpterm.Proposal) acpterm.Decision {
		return acpterm.Decision{Verdict: acpterm.Ask, Rule: "all", Reason: "nothing is allowed by itself"}
	})
	m := acpterm.NewManager(&acpterm.Options{
		Policy: askAboutAll,
		Approve: func(_ context.Context, q acpterm.Question) acpterm.Answer {
			fmt.Printf("May the agent run %s? (%s)\n", acpterm.Quote(q.Command.String(), 200), q.Reason)
			return acpterm.Answer{Approval: acpterm.ForSession, By: "the user"}
		},
	})
	defer m.Close()
	try(m, acpterm.CreateTerminalRequest{Command: "go", Args: []string{"version"}})
	try(m, acpterm.CreateTerminalRequest{Command: "go", Args: []string{"version"}})
	// Output:
	// May the agent run "go version"? (nothing is allowed by itself)
	// go version: runs
	// go version: runs
}

// The record is lines of JSON. Times and numbers are left out here.
func ExampleLogEvents() {
	handler := slog.NewJSONHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch a.Key {
		case slog.TimeKey, "terminal", "path", "dir", "level":
			return slog.Attr{}
		}
		return a
	}})
	m := acpterm.NewManager(&acpterm.Options{Policy: acpterm.AllowVariables(), Events: acpterm.LogEvents(slog.New(handler))})
	defer m.Close()
	m.Create(context.Background(), acpterm.CreateTerminalRequest{SessionID: "s1", Command: "go", Args: []string{"version"},
		Env: []acpterm.EnvVariable{{Name: "TOKEN", Value: "secret"}}})
	// Output: {"msg":"decision","session":"s1","args":["go","version"],"verdict":"deny","rule":"allow-variables","reason":"the variable \"TOKEN\" must not be set","variables":["TOKEN"],"error":"acpterm: the variable \"TOKEN\" must not be set"}
}
