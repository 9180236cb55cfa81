//go:build unix

package conformance

// The MCP server of package mcpserver with the agent of testdata/tsagent/mcpagent.mjs, which is made from the official
// TypeScript SDKs of ACP and MCP. The agent receives the server in session/new.

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/mcpserver"
)

// object is a JSON object.
type object = map[string]any

// mcpAgent is a client with the agent. The client serves the MCP server, and no terminal/*.
type mcpAgent struct {
	t       *testing.T
	version int
	manager *acpterm.Manager
	server  *mcpserver.Server
	entry   *mcpserver.Entry
	conn    *jsonrpc2.Conn
	session string
	said    chan string // texts of the agent's messages
}

// mcpOutcome is the agent's report of a command.
type mcpOutcome struct {
	Error    string
	Tools    []string
	Version  string // of MCP
	Progress []string
	Result   struct {
		IsError           bool
		Content           []struct{ Text string }
		StructuredContent struct {
			ID       string // the end of the TerminalID
			State    string
			ExitCode *int `json:"exit_code"`
			Output   string
		}
	}
}

// startMCPAgent starts the agent with a session that has the MCP server. transports are those that the agent supports.
func startMCPAgent(t *testing.T, version int, transports ...string) *mcpAgent {
	t.Helper()
	a := &mcpAgent{t: t, version: version, manager: must(acpterm.NewManager(nil)), said: make(chan string, 16)}
	t.Cleanup(func() { require.NoError(t, a.manager.Close()) })
	dir := t.TempDir()
	a.server = mcpserver.New(a.manager, &mcpserver.Options{Session: &acpterm.SessionOptions{Roots: []string{dir}}})
	relay := must(os.Executable())
	listener := must(mcpserver.Listen(&mcpserver.ListenOptions{Relay: relay}))
	a.start(transports)
	t.Cleanup(func() {
		require.NoError(t, listener.Close())
		require.NoError(t, a.server.Close())
	})

	initialized := a.initialize()
	a.entry = must(a.server.Entry(listener, "", initialized))
	request := must(json.Marshal(object{"cwd": dir, "mcpServers": []any{a.entry}}))
	schema := loadSchemaFile(t, fmt.Sprintf("session.v%d.json", version))
	require.NoError(t, schema.validate(t, "NewSessionRequest", request), "%s", request)
	require.NoError(t, schema.validate(t, "McpCapabilities", mcpCapabilities(t, initialized)))
	var opened struct{ SessionID string }
	require.NoError(t, a.conn.Call(t.Context(), "session/new", json.RawMessage(request), &opened))
	a.session = opened.SessionID
	return a
}

// start starts the agent's process. It ends with the test.
func (a *mcpAgent) start(transports []string) {
	h := acpterm.NewHandler(a.manager, &acpterm.HandlerOptions{Capabilities: new(acpterm.ClientCapabilities)})
	ignore := func(message) {}
	a.conn = serveProgram(a.t, h, jsonrpc2.HandlerWithError(a.next), ignore, ignore, "mcpagent.mjs",
		append([]string{fmt.Sprint(a.version)}, transports...)...)
}

// initialize returns the agent's response.
func (a *mcpAgent) initialize() json.RawMessage {
	params := object{"protocolVersion": 1, "clientCapabilities": acpterm.ClientCapabilities{}}
	if a.version == 2 {
		params = object{
			"protocolVersion": 2, "capabilities": object{}, "info": object{"name": "acpterm", "version": "0"},
		}
	}
	var response json.RawMessage
	require.NoError(a.t, a.conn.Call(a.t.Context(), "initialize", params, &response))
	return response
}

// mcpCapabilities returns the agent's capabilities of MCP.
func mcpCapabilities(t *testing.T, initialized []byte) []byte {
	var response struct {
		AgentCapabilities struct{ McpCapabilities json.RawMessage } // of version 1
		Capabilities      struct{ Session struct{ Mcp json.RawMessage } }
	}
	require.NoError(t, json.Unmarshal(initialized, &response))
	return append(response.AgentCapabilities.McpCapabilities, response.Capabilities.Session.Mcp...)
}

// next handles the messages that acpterm does not answer.
func (a *mcpAgent) next(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
	var said struct {
		Update struct{ Content struct{ Text string } }
	}
	if err := json.Unmarshal(*req.Params, &said); err != nil {
		return nil, err
	}
	a.said <- said.Update.Content.Text
	return nil, nil
}

// runTool makes the agent run a shell line by the tool run. It returns the terminal and the result.
func (a *mcpAgent) runTool(line string) (terminal *acpterm.Terminal, outcome mcpOutcome) {
	a.t.Helper()
	require.NoError(a.t, a.conn.Call(a.t.Context(), "session/prompt", object{
		"sessionId": a.session, "prompt": []any{object{"type": "text", "text": line}},
	}, nil))
	select {
	case text := <-a.said:
		require.NoError(a.t, json.Unmarshal([]byte(text), &outcome), text)
	case <-a.conn.DisconnectNotify():
		require.Fail(a.t, "the agent is gone")
	}
	require.Empty(a.t, outcome.Error)
	require.False(a.t, outcome.Result.IsError, outcome.Result.Content)
	for _, terminal := range a.manager.Terminals() {
		if strings.HasSuffix(string(terminal.ID()), outcome.Result.StructuredContent.ID) {
			return terminal, outcome
		}
	}
	require.Fail(a.t, "no such terminal", outcome.Result.StructuredContent.ID)
	return nil, outcome
}

var mcpTools = []string{"run", "write", "wait", "output", "kill", "release", "list"}

func TestAgentsUseTheMCPServer(t *testing.T) {
	for name, test := range map[string]struct {
		version    int
		transports []string
		entry, mcp string
	}{
		"v1 http":  {1, []string{"http"}, "http", "2025-11-25"},
		"v1 relay": {1, nil, "", "2026-07-28"},
		"v2 http":  {2, []string{"http"}, "http", "2025-11-25"},
		"v2 relay": {2, nil, "stdio", "2026-07-28"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := startMCPAgent(t, test.version, test.transports...)
			require.Equal(t, test.entry, a.entry.Type)
			terminal, outcome := a.runTool("printf 'one\n✓ two\n'; exit 3")
			require.ElementsMatch(t, mcpTools, outcome.Tools)
			require.Equal(t, test.mcp, outcome.Version)
			require.Equal(t, "one\n✓ two\n", outcome.Result.StructuredContent.Output)
			require.Equal(t, 3, *outcome.Result.StructuredContent.ExitCode)
			require.Contains(t, outcome.Result.Content[0].Text, "one\n✓ two\n")
			require.Equal(t, "one\n✓ two\n", terminal.Output().Output)
			require.False(t, terminal.Info().Attached)

			_, outcome = a.runTool("echo waiting; until test -e reported; do sleep 0.05; done") // the agent creates the file
			require.Contains(t, outcome.Progress, "waiting\n")

			// The end of the agent's session ends the MCP session.
			require.NoError(t, a.conn.Call(t.Context(), "session/close", object{"sessionId": a.session}, nil))
			require.NoError(t, a.entry.Close())
			require.Empty(t, a.manager.Terminals())
			require.Zero(t, a.manager.Stats().Sessions)
		})
	}
}
