//go:build unix

package policy_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/acpterm/acpterm"
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

// Allow programs with rules, and the variables that the agent may set with a list.
func Example() {
	rules, err := policy.ParseRules([]byte(`{"rules": [
		{"name": "go version", "verdict": "allow", "program": "go", "args": ["version"]}
	]}`))
	if err != nil {
		panic(err)
	}
	programs, err := rules.Compile(nil)
	if err != nil {
		panic(err)
	}
	variables := policy.AllowVariables(policy.SafeVariables()...)
	m, err := acpterm.NewManager(&acpterm.Options{Policy: acpterm.Policies{programs, variables}})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	try(m, acpterm.CreateTerminalRequest{Command: "go", Args: []string{"version"}})
	try(m, acpterm.CreateTerminalRequest{Command: "go", Args: []string{"env"}})
	try(m, acpterm.CreateTerminalRequest{Command: "go", Args: []string{"version"},
		Env: []acpterm.EnvVariable{{Name: "GOFLAGS", Value: "-toolexec=./x"}}})
	// Output:
	// go version: runs
	// go env: acpterm: create: "go env": no rule allows this (rule "default")
	// go version: acpterm: create: "go version": the variable "GOFLAGS" must not be set (rule "allow-variables")
}

// Rules contain their own examples. Compile checks them.
func ExampleRules() {
	rules, err := policy.ParseRules([]byte(`{"rules": [
		{"name": "go, but not run", "verdict": "allow", "program": "go", "args": ["version", "..."],
			"match": [["go", "version"], ["go", "version", "-m", "x"]], "noMatch": [["go", "run", "."]]},
		{"name": "no toolchains", "verdict": "deny", "reason": "use the one that is here",
			"program": "go", "anyArg": ["*toolchain*"]}
	]}`))
	if err != nil {
		panic(err)
	}
	compiled, err := rules.Compile(nil)
	if err != nil {
		panic(err)
	}
	m, err := acpterm.NewManager(&acpterm.Options{Policy: compiled})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	try(m, acpterm.CreateTerminalRequest{Command: "go", Args: []string{"version"}})
	try(m, acpterm.CreateTerminalRequest{Command: "go", Args: []string{"run", "."}})
	try(m, acpterm.CreateTerminalRequest{Command: "go", Args: []string{"version", "toolchain.txt"}})
	// Output:
	// go version: runs
	// go run .: acpterm: create: "go run .": no rule allows this (rule "default")
	// go version toolchain.txt: acpterm: create: "go version toolchain.txt": use the one that is here (rule "no toolchains")
}

// Commands inherit the named variables, and no others.
func ExampleInheritVariables() {
	env := policy.InheritVariables([]string{"PATH=/usr/bin", "LC_ALL=C", "AWS_SECRET=x"}, "PATH", "HOME", "LC_*")
	fmt.Println(env)
	// Output: [PATH=/usr/bin LC_ALL=C]
}
