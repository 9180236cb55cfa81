package acpsdk_test

// A client that embeds Terminals, and an agent, over the SDK's own connections at both ends; and the commands that the
// terminals run, which are the test binary itself.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acpsdk"
	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
)

// childMark, as the first argument, makes the test binary one of the children.
const childMark = "acpsdk-test-child"

var children = map[string]func(args []string){
	// print TEXT
	"print": func(args []string) { fmt.Print(args[0]) },
	// exit CODE
	"exit": func(args []string) { os.Exit(number(args[0])) },
	// sleep: for ever; says "ready" first.
	"sleep": func([]string) {
		fmt.Println("ready")
		time.Sleep(time.Hour)
	},
	// flood TIMES TEXT: writes the text, quoted as in Go, that many times.
	"flood": func(args []string) {
		text, _ := strconv.Unquote(args[1])
		io.WriteString(os.Stdout, strings.Repeat(text, number(args[0])))
	},
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == childMark {
		children[os.Args[2]](os.Args[3:])
		os.Exit(0)
	}
	os.Setenv("GORACE", "atexit_sleep_ms=0") // else each child of the race detector's lives a second longer
	os.Exit(m.Run())
}

// request asks for a child in session "s".
func request(child string, args ...string) acp.CreateTerminalRequest {
	return acp.CreateTerminalRequest{SessionId: "s", Command: os.Args[0], Args: append([]string{childMark, child}, args...)}
}

// client is what an embedder writes. It tells the test how requests begin and end.
type client struct {
	*acpsdk.Terminals
	noFiles

	began  chan context.Context // of each wait and create
	failed chan error           // those of them that did
}

// noFiles is the rest of acp.Client, which no agent here asks for.
type noFiles struct{}

func (noFiles) ReadTextFile(context.Context, acp.ReadTextFileRequest) (r acp.ReadTextFileResponse, err error) {
	return r, acp.NewMethodNotFound(acp.ClientMethodFsReadTextFile)
}

func (noFiles) WriteTextFile(context.Context, acp.WriteTextFileRequest) (r acp.WriteTextFileResponse, err error) {
	return r, acp.NewMethodNotFound(acp.ClientMethodFsWriteTextFile)
}

func (noFiles) RequestPermission(context.Context, acp.RequestPermissionRequest) (r acp.RequestPermissionResponse, err error) {
	return r, acp.NewMethodNotFound(acp.ClientMethodSessionRequestPermission)
}

func (noFiles) SessionUpdate(context.Context, acp.SessionNotification) error { return nil }

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

// agent is an agent's own side; it only keeps what it is told in initialize.
type agent struct {
	acp.Agent // nil
	told      chan acp.InitializeRequest
}

func (a agent) Initialize(_ context.Context, req acp.InitializeRequest) (acp.InitializeResponse, error) {
	a.told <- req
	return acp.InitializeResponse{ProtocolVersion: req.ProtocolVersion}, nil
}

// conversation is a client and an agent that are connected.
type conversation struct {
	*acp.AgentSideConnection
	t       testing.TB
	manager *acpterm.Manager
	client  *client
	ended   <-chan struct{} // the client's connection is
	hangUp  func()          // ends it
	told    acp.ClientCapabilities

	mu      sync.Mutex
	longest int // line that the agent got
}

// settings are what a conversation may have of its own.
type settings struct {
	manager   acpterm.Options
	terminals *acpsdk.Options
	none      bool // no terminals
}

// wires are both ends of a connection.
type wires struct {
	fromAgent, fromClient *io.PipeReader
	toClient, toAgent     *io.PipeWriter
}

func newWires() (w wires) {
	w.fromAgent, w.toClient = io.Pipe()
	w.fromClient, w.toAgent = io.Pipe()
	return w
}

// converse begins a conversation. It ends with the test, which fails if anything is left then.
func converse(t testing.TB, s settings) *conversation {
	t.Helper()
	w := newWires()
	c := &conversation{t: t, hangUp: func() { w.toClient.Close() }}
	var conn *acp.ClientSideConnection
	c.manager, c.client, conn = connectClient(t, s, w)
	c.ended = conn.Done()
	told := make(chan acp.InitializeRequest, 1)
	c.AgentSideConnection = acp.NewAgentSideConnection(agent{told: told}, w.toClient, io.TeeReader(w.fromClient, &lineMeter{c: c}))
	c.SetLogger(slog.New(slog.DiscardHandler))
	t.Cleanup(func() {
		w.toAgent.Close()
		<-c.Done()
	})
	_, err := conn.Initialize(t.Context(), acp.InitializeRequest{
		ProtocolVersion:    acp.ProtocolVersionNumber,
		ClientCapabilities: acp.ClientCapabilities{Terminal: c.client.TerminalCapability()},
	})
	require.NoError(t, err)
	c.told = (<-told).ClientCapabilities
	return c
}

// connectClient is the client's side of a conversation.
func connectClient(t testing.TB, s settings, w wires) (*acpterm.Manager, *client, *acp.ClientSideConnection) {
	m := acpterm.NewManager(&s.manager)
	c := &client{began: make(chan context.Context, 1000), failed: make(chan error, 1000)}
	if !s.none {
		c.Terminals = acpsdk.New(m, s.terminals)
	}
	conn := acp.NewClientSideConnection(c, w.toAgent, acpsdk.NewReader(w.fromAgent))
	conn.SetLogger(slog.New(slog.DiscardHandler))
	t.Cleanup(func() { requireNoGoroutines(t) }) // the last one
	t.Cleanup(func() {
		w.toClient.Close()
		<-conn.Done()
		require.NoError(t, c.CloseTerminals())
		require.Empty(t, m.Terminals())
		require.NoError(t, m.Close())
	})
	return m, c, conn
}

// requireNoGoroutines holds that no goroutine runs code of the library or of the SDK. One that has said that it is done
// may take a moment to be gone.
func requireNoGoroutines(t testing.TB) {
	t.Helper()
	var found []string
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); runtime.Gosched() {
		buf := make([]byte, 1<<20)
		found = nil
		for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			for _, code := range []string{"acpterm/acpterm.", "acpterm/acpsdk.", "coder/acp-go-sdk."} {
				if strings.Contains(stack, "github.com/"+code) {
					found = append(found, stack)
				}
			}
		}
		if found == nil {
			return
		}
	}
	require.Empty(t, found, "goroutines are left")
}

// lineMeter is written what the agent gets.
type lineMeter struct {
	c    *conversation
	line int
}

func (w *lineMeter) Write(p []byte) (int, error) {
	for piece := range bytes.Lines(p) {
		if w.line += len(piece); bytes.HasSuffix(piece, []byte("\n")) {
			w.c.mu.Lock()
			w.c.longest = max(w.c.longest, w.line)
			w.c.mu.Unlock()
			w.line = 0
		}
	}
	return len(p), nil
}

// longestLine is how long the longest line is that the agent got so far.
func (c *conversation) longestLine() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.longest
}

// create has the agent create a terminal, and returns its id and the client's view of it when the request's context has
// ended.
func (c *conversation) create(req acp.CreateTerminalRequest) (string, *acpterm.Terminal) {
	c.t.Helper()
	created, err := c.CreateTerminal(c.t.Context(), req)
	require.NoError(c.t, err)
	<-(<-c.client.began).Done() // the SDK ends a request's context once it is answered
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

// exit is how a wait ended.
type exit struct {
	acp.WaitForTerminalExitResponse
	err error
}

// beginWait has the agent wait, and returns when the client has been asked.
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

// wait has the agent wait for a command's end.
func (c *conversation) wait(id string) acp.WaitForTerminalExitResponse {
	c.t.Helper()
	ended := <-c.beginWait(c.t.Context(), id)
	require.NoError(c.t, ended.err)
	return ended.WaitForTerminalExitResponse
}

// awaitOutput returns when a command has written something.
func awaitOutput(t testing.TB, term *acpterm.Terminal) {
	t.Helper()
	for range term.Follow(t.Context(), 0) {
		return
	}
	require.Fail(t, "the command ended without a word")
}

// errorData is what tests look at of an error's data.
type errorData struct {
	Kind               acpterm.Kind
	Field              string
	Quota              acpterm.Quota
	Rule               string
	RequiredCapability string
}

// requireError holds that an error is one of the SDK's with a code, and returns its data.
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
