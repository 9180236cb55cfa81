package mcptest

// The servers: the program acpterm-mcp, and a host with a Listener, which agents reach over HTTP or through the relay.

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/internal/racetest"
	"github.com/acpterm/acpterm/mcpserver"
)

// requireVariable, set to anything, makes the tests fail if the clients cannot be run.
const requireVariable = "ACPTERM_REQUIRE_MCP"

// environment holds what the tests run.
type environment struct {
	node    string // the program
	clients string // the directory of the clients
	server  string // the program acpterm-mcp
}

// newEnvironment builds acpterm-mcp. If node or the clients are missing, the test is skipped, or fails if the variable
// is set.
func newEnvironment(t *testing.T) environment {
	t.Helper()
	clients, err := filepath.Abs("testdata/node")
	require.NoError(t, err)
	node, err := exec.LookPath("node")
	if err == nil {
		_, err = os.Stat(filepath.Join(clients, "node_modules"))
	}
	if err != nil && os.Getenv(requireVariable) == "" {
		t.Skipf("MCP clients cannot be run (npm ci --prefix internal/checks/mcptest/testdata/node installs them): %v", err)
	}
	require.NoError(t, err)
	server := filepath.Join(t.TempDir(), "acpterm-mcp.exe")
	const program = "github.com/acpterm/acpterm/cmd/acpterm-mcp"
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", server, program).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return environment{node: node, clients: clients, server: server}
}

func TestMain(m *testing.M) {
	mcpserver.RunRelay()
	racetest.Main(m)
}

// server is a server for one client.
type server struct {
	// Command, Args and Env start the server, or URL and Headers lead to it.
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	// Remembers tells that the server asks about a command that the user allows for the session only once.
	Remembers bool `json:"remembers"`

	// SDK is the version of the TypeScript SDK for the client.
	SDK int `json:"sdk,omitempty"`
}

// transports are the ways in which a client can connect. Each function starts a server that runs commands in dir, asks
// about touch and denies rm.
var transports = map[string]func(t *testing.T, e environment, dir string) server{
	"stdio": func(t *testing.T, e environment, dir string) server {
		return server{
			Command: e.server, Args: []string{"-root", dir, "-others", "allow", "-ask", "touch ...", "-deny", "rm ...",
				"-journal", filepath.Join(t.TempDir(), "journal")},
			Remembers: true,
		}
	},
	"relay": func(t *testing.T, _ environment, dir string) server {
		e := newHost(t, dir, `{"protocolVersion":1}`)
		s := server{Command: e.Command, Args: e.Args, Env: make(map[string]string)}
		for _, v := range e.Env {
			s.Env[v.Name] = v.Value
		}
		return s
	},
	"http": func(t *testing.T, _ environment, dir string) server {
		e := newHost(t, dir, `{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{"http":true}}}`)
		return server{URL: e.URL, Headers: map[string]string{e.Headers[0].Name: e.Headers[0].Value}}
	},
}

// newHost returns an entry of a host for an agent with this response to initialize.
func newHost(t *testing.T, dir, initialize string) *mcpserver.Entry {
	t.Helper()
	relay, err := os.Executable() // see TestMain
	require.NoError(t, err)
	m := acptermtest.NewManager(t, &acpterm.Options{Policy: acpterm.PolicyFunc(decide), Approve: mcpserver.AskClient})
	s := mcpserver.New(m, &mcpserver.Options{Session: &acpterm.SessionOptions{Roots: []string{dir}}})
	l, err := mcpserver.Listen(&mcpserver.ListenOptions{Relay: relay, MaxSessions: 64})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, l.Close())
		require.Empty(t, m.Terminals())
		require.NoError(t, s.Close())
	})
	e, err := s.Entry(l, "", json.RawMessage(initialize))
	require.NoError(t, err)
	return e
}

func decide(_ context.Context, p acpterm.Proposal) acpterm.Decision {
	switch strings.Fields(p.Requested.Command)[0] {
	case "touch":
		return acpterm.Decision{Verdict: acpterm.VerdictAsk}
	case "rm":
		return acpterm.Decision{Verdict: acpterm.VerdictDeny}
	}
	return acpterm.Decision{Verdict: acpterm.VerdictAllow}
}
