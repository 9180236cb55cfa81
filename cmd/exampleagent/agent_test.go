package exampleagent

// These tests connect the agent to a client with answers chosen by the test. The tests of the example client cover the
// successful cases.

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agentterm"
	"github.com/acpterm/acpterm/internal/racetest"
	"github.com/acpterm/acpterm/signin"
)

// TestMain also makes the test binary a command that runs until it is killed.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "sleep" {
		time.Sleep(time.Hour)
	}
	racetest.Main(m)
}

// client records the agent's messages and answers its permission requests.
type client struct {
	t       *testing.T
	conn    *jsonrpc2.Conn
	created chan *acpterm.Terminal
	permit  func() string // returns the option to select; if nil, the client allows
	hear    func(update string)

	mu      sync.Mutex
	updates []string // the texts of messages, the status of tool calls
}

func connect(t *testing.T, capabilities acpterm.ClientCapabilities) *client {
	clientEnd, agentEnd := net.Pipe()
	manager := must(acpterm.NewManager(nil))
	t.Cleanup(func() { manager.Close() })
	c := &client{t: t, created: make(chan *acpterm.Terminal, 1)}
	own := must(acpterm.NewManager(nil))
	t.Cleanup(func() { own.Close() })
	agent := newAgent(own).connect(agentEnd)
	t.Cleanup(func() { agent.Close() })
	h := acpterm.NewHandler(manager, &acpterm.HandlerOptions{
		Next:         jsonrpc2.HandlerWithError(c.handle),
		Capabilities: &capabilities,
		Created:      func(t *acpterm.Terminal) { c.created <- t },
	})
	var handler jsonrpc2.Handler = h
	if capabilities.Meta != nil {
		handler = agentterm.New(h, nil).Handler(h)
	}
	c.conn = jsonrpc2.NewConn(t.Context(), jsonrpc2.NewPlainObjectStream(clientEnd), handler)
	c.call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": capabilities}, nil)
	c.call("session/new", map[string]any{"cwd": t.TempDir(), "mcpServers": []any{}}, nil)
	return c
}

func (c *client) handle(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
	if req.Method == "session/request_permission" {
		choice := "allow"
		if c.permit != nil {
			choice = c.permit()
		}
		return map[string]any{"outcome": map[string]string{"outcome": "selected", "optionId": choice}}, nil
	}
	var n struct {
		Update struct {
			Status  string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(*req.Params, &n); err != nil {
		return nil, err
	}
	var message textContent
	json.Unmarshal(n.Update.Content, &message) // the content of a tool call has another form
	if c.hear != nil {
		c.hear(n.Update.Status + message.Text)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.updates = append(c.updates, n.Update.Status+message.Text)
	return nil, nil
}

func (c *client) call(method string, params, result any) {
	c.t.Helper()
	require.NoError(c.t, c.conn.Call(c.t.Context(), method, params, result))
}

func promptParams(text string) map[string]any {
	return map[string]any{"sessionId": "session-1", "prompt": []any{
		map[string]string{"type": "text", "text": text},
		map[string]string{"type": "image", "data": "", "mimeType": "image/png"},
	}}
}

// prompt plays a turn and returns its stop reason.
func (c *client) prompt(text string) string {
	c.t.Helper()
	var turn struct{ StopReason string }
	c.call("session/prompt", promptParams(text), &turn)
	return turn.StopReason
}

func (c *client) cancel() {
	require.NoError(c.t, c.conn.Notify(context.Background(), "session/cancel", map[string]string{"sessionId": "session-1"}))
}

func (c *client) told() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.updates, "\n")
}

// sleepLine returns a command line that runs until it is killed.
func sleepLine(t *testing.T) string {
	self, err := os.Executable()
	require.NoError(t, err)
	return `"` + self + `" sleep`
}

func TestClientWithoutTerminals(t *testing.T) {
	c := connect(t, acpterm.ClientCapabilities{})
	require.Equal(t, "refusal", c.prompt("go version"))
	require.Equal(t, "I run commands, and for that your client would have to offer terminals.", c.told())
}

func TestEmptyPrompt(t *testing.T) {
	c := connect(t, acpterm.ClientCapabilities{Terminal: true})
	require.Equal(t, "refusal", c.prompt(" \n"))
}

func TestNotAllowed(t *testing.T) {
	c := connect(t, acpterm.ClientCapabilities{Terminal: true})
	c.permit = func() string { return "reject" }
	require.Equal(t, "end_turn", c.prompt("go version"))
	require.Equal(t, "pending\nfailed\nI was not allowed to run it.", c.told())
}

func TestCancelBeforePermission(t *testing.T) {
	c := connect(t, acpterm.ClientCapabilities{Terminal: true})
	c.permit = func() string {
		c.cancel() // arrives before the permission
		return "allow"
	}
	require.Equal(t, "cancelled", c.prompt("go version"))
	require.Equal(t, "pending\nfailed", c.told())
	require.Empty(t, c.created)
}

func TestCancelEndsTheCommand(t *testing.T) {
	c := connect(t, acpterm.ClientCapabilities{Terminal: true})
	var stopReason string
	done := make(chan struct{})
	go func() {
		defer close(done)
		stopReason = c.prompt(sleepLine(t))
	}()
	terminal := <-c.created
	c.cancel()
	<-done
	require.Equal(t, "cancelled", stopReason)
	require.Equal(t, "pending\nin_progress\nfailed", c.told())
	require.Equal(t, acpterm.EndedByKill, terminal.EndedBy())
}

// The agent runs a command itself without the client's terminals, and shows it in the form that the client supports.
func TestCommandsThatTheAgentRuns(t *testing.T) {
	c := connect(t, acpterm.ClientCapabilities{Terminal: true})
	require.Equal(t, "end_turn", c.prompt("self: go version"))
	require.Equal(t, "in_progress\ncompleted\nexit code 0", c.told())
	require.Empty(t, c.created)
	c.permit = func() string { return "reject" }
	require.Equal(t, "end_turn", c.prompt("self: go version"))
	require.True(t, strings.HasSuffix(c.told(), "exit code 0\nI was not allowed to run it."), c.told())

	c = connect(t, showsOwnTerminals())
	require.Equal(t, "refusal", c.prompt("self: "))
	require.Equal(t, "end_turn", c.prompt("self: go version"))
	terminal := <-c.created
	require.True(t, terminal.Attached())
	require.Equal(t, "go version", terminal.Command().String())
	require.Contains(t, terminal.Output().Output, "go version")
	require.Equal(t, "exit code 0", howItEnded(terminal))
	require.True(t, strings.HasSuffix(c.told(), "completed\nexit code 0"), c.told())

	require.Equal(t, "end_turn", c.prompt("self: acpterm-no-such-program"))
	require.Contains(t, c.told(), "not found")
	require.Equal(t, "not known", howItEnded(<-c.created))
}

func TestCancelEndsTheAgentsCommand(t *testing.T) {
	c := connect(t, showsOwnTerminals())
	c.hear = func(update string) {
		if update == "in_progress" {
			c.cancel()
		}
	}
	require.Equal(t, "cancelled", c.prompt("self: "+sleepLine(t)))
	require.NotEqual(t, "exit code 0", howItEnded(<-c.created))
	require.Regexp(t, "^in_progress\n+failed$", c.told())
}

func howItEnded(terminal *acpterm.Terminal) string {
	<-terminal.Done()
	return terminal.ExitStatus().String()
}

func showsOwnTerminals() acpterm.ClientCapabilities {
	return acpterm.ClientCapabilities{Meta: acpterm.Meta{"terminal_output": json.RawMessage("true")}}
}

// split returns a program and its arguments if a shell would read the words the same way. Otherwise it returns a line.
func TestSplit(t *testing.T) {
	for line, want := range map[string][]string{
		"go":                        {"go"},
		" go  version\t":            {"go", "version"},
		"go env GOOS=1":             {"go", "env", "GOOS=1"},
		"acpterm-no-such-program x": {"acpterm-no-such-program x"},
		"A=1 go version":            {"A=1 go version"},
		`go "version"`:              {`go "version"`},
		"go version; go":            {"go version; go"},
		"go\nversion":               {"go\nversion"},
	} {
		command, args := split(line)
		require.Equal(t, want, append([]string{command}, args...), line)
	}
}

func TestOneTurnAtATime(t *testing.T) {
	c := connect(t, acpterm.ClientCapabilities{Terminal: true})
	turn, err := c.conn.DispatchCall(t.Context(), "session/prompt", promptParams(sleepLine(t)))
	require.NoError(t, err)
	<-c.created
	require.ErrorContains(t, c.conn.Call(t.Context(), "session/prompt", promptParams("go version"), nil), "a turn under way")
	c.cancel()
	require.NoError(t, turn.Wait(t.Context(), nil))
	require.Equal(t, "end_turn", c.prompt("go version")) // another turn can follow
	require.Contains(t, c.told(), "completed\nexit code 0")
}

// If a sign-in is required, the agent's answer says so. The agent offers the sign-in to clients that can run it.
func TestSignInIsRequired(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "tokens")
	for _, can := range []bool{false, true} {
		clientEnd, agentEnd := net.Pipe()
		a := newAgent(nil)
		a.tokens = tokens
		agent := a.connect(agentEnd)
		conn := jsonrpc2.NewConn(t.Context(), jsonrpc2.NewPlainObjectStream(clientEnd), jsonrpc2.HandlerWithError(nil))
		t.Cleanup(func() { agent.Close(); conn.Close() })
		var initialized json.RawMessage
		require.NoError(t, conn.Call(t.Context(), "initialize", map[string]any{
			"protocolVersion":    1,
			"clientCapabilities": acpterm.ClientCapabilities{Auth: acpterm.AuthCapabilities{Terminal: can}},
		}, &initialized))
		methods, err := signin.ReadMethods(initialized)
		require.NoError(t, err)
		require.Equal(t, can, len(methods) == 1)
		err = conn.Call(t.Context(), "session/new", struct{}{}, nil)
		require.True(t, signin.IsRequired(err), "%v", err)
		if can {
			require.Equal(t, []string{"--sign-in"}, methods[0].Args)
			require.NoError(t, os.WriteFile(tokens, nil, 0o600))
			require.NoError(t, conn.Call(t.Context(), "session/new", struct{}{}, nil))
		}
	}
}

func TestWhatTheAgentDoesNotKnow(t *testing.T) {
	c := connect(t, acpterm.ClientCapabilities{Terminal: true})
	require.ErrorContains(t, c.conn.Call(t.Context(), "session/load", struct{}{}, nil), "-32601")
	require.ErrorContains(t, c.conn.Call(t.Context(), "session/new", []int{}, nil), "-32602")
	unknown := map[string]any{"sessionId": "session-9", "prompt": []any{}}
	require.ErrorContains(t, c.conn.Call(t.Context(), "session/prompt", unknown, nil), "no such session")
}

// must returns value. It panics if err is not nil.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
