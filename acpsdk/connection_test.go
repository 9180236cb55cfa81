package acpsdk_test

// A client that embeds Terminals and an agent, connected by the SDK. The test binary also runs as the commands.

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acpsdk"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/internal/racetest"
	"github.com/acpterm/acpterm/internal/terminaltest/children"
	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	children.Main(map[string]func(args []string){
		// repeat TIMES TEXT: writes TEXT, a string in Go syntax, TIMES times
		"repeat": func(args []string) {
			text, _ := strconv.Unquote(args[1])
			io.WriteString(os.Stdout, strings.Repeat(text, children.Number(args[0])))
		},
	})
	racetest.Restart()
	os.Exit(m.Run())
}

// request returns a request to run a child in session "s".
func request(child string, args ...string) acp.CreateTerminalRequest {
	line := children.Args(child, args...)
	return acp.CreateTerminalRequest{SessionId: "s", Command: line[0], Args: line[1:]}
}

// client is an embedder's client. It reports the start and the failure of creates and waits, and the updates that it
// receives from the SDK.
type client struct {
	*acpsdk.Terminals
	noFiles

	began   chan context.Context
	failed  chan error
	updated chan acp.SessionUpdate
}

func (c *client) SessionUpdate(_ context.Context, n acp.SessionNotification) error {
	c.updated <- n.Update
	return nil
}

// noFiles stands for the other methods of acp.Client. No agent calls them here.
type noFiles struct{ acp.Client }

func (c *client) CreateTerminal(ctx context.Context, req acp.CreateTerminalRequest) (acp.CreateTerminalResponse, error) {
	c.began <- ctx
	created, err := c.Terminals.CreateTerminal(ctx, req)
	if err != nil {
		c.failed <- err
	}
	return created, err
}

func (c *client) WaitForTerminalExit(ctx context.Context, req acp.WaitForTerminalExitRequest) (acp.WaitForTerminalExitResponse, error) {
	c.began <- ctx
	status, err := c.Terminals.WaitForTerminalExit(ctx, req)
	if err != nil {
		c.failed <- err
	}
	return status, err
}

type agent struct {
	acp.Agent   // nil
	initialized chan acp.InitializeRequest
}

func (a agent) Initialize(_ context.Context, req acp.InitializeRequest) (acp.InitializeResponse, error) {
	a.initialized <- req
	return acp.InitializeResponse{ProtocolVersion: req.ProtocolVersion}, nil
}

// conversation is an agent connected to a client.
type conversation struct {
	*acp.AgentSideConnection
	t       testing.TB
	manager *acpterm.Manager
	client  *client
	ended   <-chan struct{} // closed when the client's connection has ended
	hangUp  func()          // ends the client's connection

	capabilities acp.ClientCapabilities
	longestLine  atomic.Int64 // received by the agent
}

type settings struct {
	manager     acpterm.Options
	terminals   *acpsdk.Options
	noTerminals bool
}

// wires are the pipes of a connection.
type wires struct {
	fromAgent, fromClient *io.PipeReader
	toClient, toAgent     *io.PipeWriter
}

func newWires() (w wires) {
	w.fromAgent, w.toClient = io.Pipe()
	w.fromClient, w.toAgent = io.Pipe()
	return w
}

// converse starts a conversation. It ends with the test.
func converse(t testing.TB, s settings) *conversation {
	t.Helper()
	w := newWires()
	c := &conversation{t: t, hangUp: func() { w.toClient.Close() }}
	var conn *acp.ClientSideConnection
	c.manager, c.client, conn = connectClient(t, s, w)
	c.ended = conn.Done()
	initialized := make(chan acp.InitializeRequest, 1)
	c.AgentSideConnection = acp.NewAgentSideConnection(agent{initialized: initialized}, w.toClient, io.TeeReader(w.fromClient, &lineMeter{c: c}))
	c.SetLogger(slog.New(slog.DiscardHandler))
	t.Cleanup(func() {
		w.toAgent.Close()
		<-c.Done()
	})
	_, err := conn.Initialize(t.Context(), acp.InitializeRequest{
		ProtocolVersion:    acp.ProtocolVersionNumber,
		ClientCapabilities: c.client.ClientCapabilities(),
	})
	require.NoError(t, err)
	c.capabilities = (<-initialized).ClientCapabilities
	return c
}

// connectClient starts the client's side of a conversation. The test fails if a process or goroutine is left.
func connectClient(t testing.TB, s settings, w wires) (*acpterm.Manager, *client, *acp.ClientSideConnection) {
	m := acptermtest.NewManager(t, &s.manager)
	c := &client{
		began: make(chan context.Context, 1000), failed: make(chan error, 1000),
		updated: make(chan acp.SessionUpdate, 1000),
	}
	if !s.noTerminals {
		c.Terminals = acpsdk.New(m, s.terminals)
	}
	conn := c.Connect(c, w.toAgent, w.fromAgent)
	conn.SetLogger(slog.New(slog.DiscardHandler))
	t.Cleanup(func() {
		w.toClient.Close()
		w.fromClient.Close()
		<-conn.Done()
		require.NoError(t, c.CloseTerminals(context.Background()))
		require.Empty(t, m.Terminals())
	})
	return m, c, conn
}

// lineMeter measures the lines received by the agent.
type lineMeter struct {
	c    *conversation
	line int64
}

func (w *lineMeter) Write(p []byte) (int, error) {
	for piece := range bytes.Lines(p) {
		if w.line += int64(len(piece)); bytes.HasSuffix(piece, []byte("\n")) {
			w.c.longestLine.Store(max(w.c.longestLine.Load(), w.line))
			w.line = 0
		}
	}
	return len(p), nil
}

// create creates a terminal and waits for the end of the request's context.
func (c *conversation) create(req acp.CreateTerminalRequest) (string, *acpterm.Terminal) {
	c.t.Helper()
	created, err := c.CreateTerminal(c.t.Context(), req)
	require.NoError(c.t, err)
	<-(<-c.client.began).Done() // the SDK ends the context after the answer
	term, err := c.manager.Terminal(acpterm.SessionID(req.SessionId), acpterm.TerminalID(created.TerminalId))
	require.NoError(c.t, err)
	return created.TerminalId, term
}

func (c *conversation) output(id string) acp.TerminalOutputResponse {
	c.t.Helper()
	out, err := c.TerminalOutput(c.t.Context(), acp.TerminalOutputRequest{SessionId: "s", TerminalId: id})
	require.NoError(c.t, err)
	return out
}

type exit struct {
	acp.WaitForTerminalExitResponse
	err error
}

// beginWait starts a wait, and returns when the client has received the request.
func (c *conversation) beginWait(ctx context.Context, id string) <-chan exit {
	c.t.Helper()
	done := make(chan exit, 1)
	go func() {
		status, err := c.WaitForTerminalExit(ctx, acp.WaitForTerminalExitRequest{SessionId: "s", TerminalId: id})
		done <- exit{status, err}
	}()
	<-c.client.began
	return done
}

func (c *conversation) wait(id string) acp.WaitForTerminalExitResponse {
	c.t.Helper()
	ended := <-c.beginWait(c.t.Context(), id)
	require.NoError(c.t, ended.err)
	return ended.WaitForTerminalExitResponse
}

// awaitOutput waits for a command's first output.
func awaitOutput(t testing.TB, term *acpterm.Terminal) {
	t.Helper()
	for range term.Follow(t.Context(), 0) {
		return
	}
	require.Fail(t, "the command ended without output")
}

type errorData struct {
	Kind               acpterm.Kind
	Field              string
	Quota              string
	Rule               string
	RequiredCapability string
}

// requireError checks that err is an *acp.RequestError with the given code, and returns its data.
func requireError(t testing.TB, err error, code int) (data errorData) {
	t.Helper()
	var e *acp.RequestError
	require.ErrorAs(t, err, &e)
	require.Equal(t, code, e.Code, e.Error())
	encoded, err := json.Marshal(e.Data)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(encoded, &data), string(encoded))
	return data
}
