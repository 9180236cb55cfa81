package main

// The agent as a process, with a client that is the test.

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agentproc"
	"github.com/acpterm/acpterm/agentterm"
	"github.com/acpterm/acpterm/internal/racetest"
	"github.com/acpterm/acpterm/signin"
)

func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 2 && os.Args[1] == "stay": // a command
		time.Sleep(time.Hour)
	case len(os.Args) > 1 && os.Args[1] == "agent":
		os.Args = os.Args[1:]
		main()
		return
	}
	racetest.Main(m)
}

// client is the client. Its fields are set before the first prompt.
type client struct {
	*testing.T
	conn    *jsonrpc2.Conn
	created chan *acpterm.Terminal
	permit  func() (option string)
	said    chan string
}

// connect starts an agent. It initializes the connection, and returns the answer.
func connect(t *testing.T, capabilities acpterm.ClientCapabilities, args ...string) (*client, json.RawMessage) {
	m, err := acpterm.NewManager(nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	cmd := exec.Command(os.Args[0], append([]string{"agent"}, args...)...)
	agent, err := agentproc.Start(t.Context(), cmd, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, agent.Close()) })
	c := &client{T: t, created: make(chan *acpterm.Terminal, 1), said: make(chan string, 9),
		permit: func() string { return "allow" }}
	h := acpterm.NewHandler(m, &acpterm.HandlerOptions{Capabilities: &capabilities,
		Created: func(t *acpterm.Terminal) { c.created <- t }})
	ours := agentterm.New(h, nil).Handler(jsonrpc2.HandlerWithError(c.handle))
	rest := jsonrpc2.NewPlainObjectStream(h.Filter(context.Background(), agent))
	c.conn = jsonrpc2.NewConn(context.Background(), rest, ours)
	agentterm.Advertise(&capabilities)
	var initialized json.RawMessage
	params := object{"protocolVersion": 1, "clientCapabilities": capabilities}
	require.NoError(t, c.conn.Call(t.Context(), "initialize", params, &initialized))
	return c, initialized
}

// handle answers questions, and takes what the agent says.
func (c *client) handle(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
	if req.Method == "session/request_permission" {
		return object{"outcome": object{"outcome": "selected", "optionId": c.permit()}}, nil
	}
	var n struct {
		Update struct {
			SessionUpdate string
			Content       struct{ Text string }
		}
	}
	json.Unmarshal(*req.Params, &n) // the content of a tool call has another form
	if n.Update.SessionUpdate == "agent_message_chunk" {
		c.said <- n.Update.Content.Text
	}
	return nil, nil
}

func (c *client) newSession() error {
	return c.conn.Call(c.Context(), "session/new", object{"cwd": c.TempDir(), "mcpServers": []any{}}, nil)
}

// prompt plays a turn, and returns its stop reason.
func (c *client) prompt(text string) (stopReason string) {
	var turn struct{ StopReason string }
	params := object{"sessionId": "session-1", "prompt": []object{{"type": "text", "text": text}}}
	require.NoError(c, c.conn.Call(c.Context(), "session/prompt", params, &turn))
	return turn.StopReason
}

func TestCommands(t *testing.T) {
	for prefix, own := range map[string]bool{"": false, "self: ": true} {
		c, _ := connect(t, acpterm.ClientCapabilities{Terminal: true})
		require.NoError(t, c.newSession())
		require.Equal(t, "end_turn", c.prompt(prefix+"go version"))
		require.Equal(t, "exit code 0", <-c.said)
		terminal := <-c.created
		require.Equal(t, own, terminal.Attached())
		require.Contains(t, terminal.Output().Output, "go version go")
		require.Equal(t, "end_turn", c.prompt(prefix+"acpterm-no-such-program"))
		require.NotEqual(t, "exit code 0", <-c.said)
		c.permit = func() string { return "reject" }
		require.Equal(t, "end_turn", c.prompt(prefix+"go version"))
		require.Equal(t, "I was not allowed to run it.", <-c.said)
		require.Equal(t, "refusal", c.prompt(prefix))
	}
}

func TestCancelEndsTheCommand(t *testing.T) {
	for _, prefix := range []string{"", "self: "} {
		c, _ := connect(t, acpterm.ClientCapabilities{Terminal: true})
		require.NoError(t, c.newSession())
		ended := make(chan *acpterm.Terminal, 1)
		go func() {
			terminal := <-c.created
			c.conn.Notify(t.Context(), "session/cancel", object{"sessionId": "session-1"})
			<-terminal.Done()
			ended <- terminal
		}()
		require.Equal(t, "cancelled", c.prompt(prefix+os.Args[0]+" stay"))
		require.False(t, (<-ended).ExitStatus().Success())
	}
}

// If a sign-in is required, the agent says so, and offers it to clients that can run it.
func TestSignInIsRequired(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "tokens")
	for _, can := range []bool{false, true} {
		capabilities := acpterm.ClientCapabilities{Terminal: true, Auth: acpterm.AuthCapabilities{Terminal: can}}
		c, initialized := connect(t, capabilities, "-tokens", tokens)
		methods, err := signin.ReadMethods(initialized)
		require.NoError(t, err)
		require.Equal(t, can, len(methods) == 1)
		err = c.newSession()
		require.True(t, signin.IsRequired(err), "%v", err)
		if can {
			require.NoError(t, os.WriteFile(tokens, nil, 0o600))
			require.NoError(t, c.newSession())
		}
	}
}

func TestSplit(t *testing.T) {
	for line, words := range map[string]int{"go version": 2, "go": 1, "go test | tee x": 1, "acpterm-no-such-program x": 1} {
		command, args := split(line)
		require.Len(t, append([]string{command}, args...), words, line)
		require.Equal(t, line, strings.Join(append([]string{command}, args...), " "))
	}
}
