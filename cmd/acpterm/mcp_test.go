package main

// Agents that use the tools of -mcp, over both transports.

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/mcpserver"
)

func init() {
	parts["agent-that-uses-tools"] = func(args []string) {
		a := new(scripted)
		if args[0] == "http" {
			a.capabilities = map[string]any{"mcpCapabilities": map[string]bool{"http": true}}
		}
		a.serve(1, useTools(args[1:]))
	}
}

// authorized adds the headers of an entry.
type authorized []mcpserver.Header

func (headers authorized) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for _, h := range headers {
		r.Header.Set(h.Name, h.Value)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// connectTools connects to the only MCP server of the session.
func (a *scripted) connectTools() *mcp.ClientSession {
	if len(a.servers) != 1 {
		panic(fmt.Sprint(len(a.servers), " MCP servers"))
	}
	var entry mcpserver.Entry
	if err := json.Unmarshal(a.servers[0], &entry); err != nil {
		panic(err)
	}
	var transport mcp.Transport = &mcp.StreamableClientTransport{
		Endpoint: entry.URL, HTTPClient: &http.Client{Transport: authorized(entry.Headers)},
	}
	if entry.URL == "" {
		relay := exec.Command(entry.Command, entry.Args...)
		relay.Env = os.Environ()
		for _, v := range entry.Env {
			relay.Env = append(relay.Env, v.Name+"="+v.Value)
		}
		transport = &mcp.CommandTransport{Command: relay}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil)
	s, err := client.Connect(context.Background(), transport, nil)
	if err != nil {
		panic(err)
	}
	return s
}

// useTools does what its steps say. "run ARGUMENTS" calls the tool with JSON and says what it returns. "terminal NAME"
// runs a part in a terminal. "await FILE" waits for a file. "leave" ends the turn, but not the MCP session.
func useTools(steps []string) script {
	return func(a *scripted) string {
		s := a.connectTools()
		for _, step := range steps {
			what, arg, _ := strings.Cut(step, " ")
			switch what {
			case "run":
				params := &mcp.CallToolParams{Name: "run", Arguments: json.RawMessage(arg)}
				result, err := s.CallTool(context.Background(), params)
				if err != nil {
					panic(err)
				}
				a.say(fmt.Sprintf("error %v: %q\n", result.IsError, result.Content[0].(*mcp.TextContent).Text))
			case "terminal":
				ref := a.create(arg, "by terminal/create")
				a.call(acpterm.MethodWaitForExit, ref, nil)
				a.call(acpterm.MethodRelease, ref, nil)
			case "await":
				awaitFile(arg)
			case "leave":
				return "end_turn"
			}
		}
		if err := s.Close(); err != nil {
			panic(err)
		}
		return "end_turn"
	}
}

// runPart is a step of useTools that runs a part.
func runPart(t *testing.T, more map[string]any, name string, args ...string) string {
	command := part(name, args...)
	arguments := map[string]any{"command": command[0], "args": command[1:]}
	for key, value := range more {
		arguments[key] = value
	}
	return "run " + encode(t, arguments)
}

func usingTools(transport string, steps ...string) []string {
	return part("agent-that-uses-tools", append([]string{transport}, steps...)...)
}

var transports = []string{"http", "stdio"}

// One agent uses both the tools and terminal/*, and the user sees both alike.
func TestToolsAndTerminals(t *testing.T) {
	t.Parallel()
	for _, transport := range transports {
		t.Run(transport, func(t *testing.T) {
			agent := usingTools(transport,
				runPart(t, nil, "print", "by tool"), "terminal print", runPart(t, nil, "exit", "3"))
			c := startClient(t, agent, "-mcp", "-prompt", "x")
			c.exit(0)
			out := c.stdout.String()
			for _, want := range []string{
				`(?s)\[1\] \| by tool\n.*\[1\] = exit`, `\[1\] = exit.* 0\b`, `\[2\] \| by terminal/create\n`,
				`\[2\] = exit.* 0\b`, `\[3\] = exit.* 3\b`,
			} {
				require.Regexp(t, want, out)
			}
			require.Regexp(t, `\[1\] \$ .* print "?by tool`, out)
			require.Regexp(t, `> error false: "\[\S+ exit code 0\]\\nby tool\\n"\n`, out)
			require.Empty(t, c.stderr.String())
		})
	}
}

func TestWithoutTheFlagThereAreNoTools(t *testing.T) {
	t.Parallel()
	c := startClient(t, usingTools("http"), "-prompt", "x")
	c.exit(exitAgentGone)
	require.Contains(t, c.stderr.String(), "agent: panic: 0 MCP servers")
}

func TestToolsObeyTheRules(t *testing.T) {
	t.Parallel()
	inside, outside := realDir(t), t.TempDir()
	for _, transport := range transports {
		t.Run(transport, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "audit.json")
			c := startClient(t, usingTools(transport, `run {"command":"go","args":["env","GOOS"]}`,
				`run {"command":"go","args":["version"]}`,
				"run "+encode(t, map[string]any{"command": "go", "args": []string{"version"}, "cwd": outside})),
				"-mcp", "-allow", "go version", "-root", inside, "-audit", file, "-prompt", "x")
			c.exit(0)
			out := c.stdout.String()
			require.Contains(t, out, `! denied "go env GOOS": no rule allows this (rule "default")`+"\n")
			require.Contains(t, out, `! denied "go version": cwd is outside of the directories`)
			require.Equal(t, 2, strings.Count(out, "> error true: "), out)
			require.Contains(t, out, "[1] | go version ")
			require.NotContains(t, out, "[2]")
			records := readRecords(t, file)
			require.Len(t, records, 4)
			require.Equal(t, "deny", records[0].Verdict)
			require.Equal(t, inside, records[0].Dir)
		})
	}
}

// A command in the background ends with the turn, and so does a relay that the agent leaves alone.
func TestTheEndOfTheTurnEndsTheCommandsOfTools(t *testing.T) {
	t.Parallel()
	for _, transport := range transports {
		t.Run(transport, func(t *testing.T) {
			agent := usingTools(transport, runPart(t, map[string]any{"wait_ms": 0}, "sleep"), "leave")
			c := startClient(t, agent, "-mcp", "-prompt", "x")
			c.exit(0)
			require.Contains(t, c.stdout.String(), "> error false: ")
			require.Regexp(t, `\[1\] = .+\n`, c.stdout.String())
			require.Empty(t, c.stderr.String())
		})
	}
}
