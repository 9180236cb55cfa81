package mcpserver

// A host with a Listener, and the clients that agents are.

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/internal/racetest"
	"github.com/acpterm/acpterm/mcpserver/internal/relay"
)

const (
	agentHTTP  = `{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{"http":true}}}`
	agentStdio = `{"protocolVersion":1,"agentCapabilities":{}}`
)

// front is a host that offers a Server to agents.
type front struct {
	*testing.T
	manager  *acpterm.Manager
	server   *Server
	listener *Listener
}

// newFront returns a host whose commands are real, or scripts if commands is not nil. The relay is the test binary.
func newFront(t *testing.T, commands acptermtest.Commands, options ListenOptions) *front {
	t.Helper()
	var runner acpterm.Options
	if commands != nil {
		runner.Runner = commands
	}
	f := &front{T: t, manager: acptermtest.NewManager(t, &runner)}
	f.server = New(f.manager, nil)
	if options.Relay == "" {
		options.Relay = os.Args[0]
	}
	var err error
	f.listener, err = Listen(&options)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, f.listener.Close())
		require.NoError(t, f.server.Close())
	})
	return f
}

// blocking is a script that runs until it is killed.
var blocking = acptermtest.Commands{"serve": acptermtest.Block, "hello": acptermtest.Print("hello\n", 0)}

func (f *front) entry(initialize string) *Entry {
	f.Helper()
	e, err := f.server.Entry(f.listener, "", json.RawMessage(initialize))
	require.NoError(f, err)
	return e
}

// withHeaders is an http.RoundTripper that adds headers.
type withHeaders struct {
	http.RoundTripper
	headers []Header
}

func (w withHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for _, h := range w.headers {
		r.Header.Set(h.Name, h.Value)
	}
	return w.RoundTripper.RoundTrip(r)
}

// transport returns the SDK's transport for an HTTP entry.
func (f *front) transport(e *Entry) *mcp.StreamableClientTransport {
	f.Helper()
	require.Equal(f, "http", e.Type)
	connections := new(http.Transport)
	f.Cleanup(connections.CloseIdleConnections)
	return &mcp.StreamableClientTransport{
		Endpoint: e.URL, HTTPClient: &http.Client{Transport: withHeaders{connections, e.Headers}}, MaxRetries: -1,
	}
}

// relayCommand returns the command of an entry for stdio, with the environment that an agent gives it.
func relayCommand(e *Entry) *exec.Cmd {
	cmd := exec.Command(e.Command, e.Args...)
	cmd.Env = os.Environ()
	for _, v := range e.Env {
		cmd.Env = append(cmd.Env, v.Name+"="+v.Value)
	}
	return cmd
}

// connect returns a client of an entry, over its transport.
func (f *front) connect(e *Entry) *mcp.ClientSession {
	f.Helper()
	if e.URL == "" {
		return f.connectTo(&mcp.CommandTransport{Command: relayCommand(e)})
	}
	return f.connectTo(f.transport(e))
}

func (f *front) connectTo(t mcp.Transport) *mcp.ClientSession {
	f.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil)
	s, err := client.Connect(f.Context(), t, nil)
	require.NoError(f, err)
	f.Cleanup(func() { s.Close() })
	return s
}

// dial connects until the end of the test.
func (f *front) dial(network, address string) net.Conn {
	f.Helper()
	conn, err := net.Dial(network, address)
	require.NoError(f, err)
	f.Cleanup(func() { conn.Close() })
	return conn
}

// dialRelay connects to the socket of an entry, without its token.
func (f *front) dialRelay(e *Entry) net.Conn {
	f.Helper()
	return f.dial("unix", valueOf(e, relay.SocketVariable))
}

// start starts a command that runs until it is killed, and returns its terminal.
func (f *front) start(s *mcp.ClientSession) *acpterm.Terminal {
	f.Helper()
	r, _ := call[commandResult](f.T, s, "run", object{"command": "serve", "args": []string{}, "wait_ms": 0})
	return f.terminal(r.ID)
}

func (f *front) terminal(id string) *acpterm.Terminal {
	f.Helper()
	for _, t := range f.manager.Terminals() {
		if strings.HasSuffix(string(t.ID()), id) {
			return t
		}
	}
	require.Fail(f, "no such terminal", id)
	return nil
}

// released waits until a terminal is released.
func (f *front) released(t *acpterm.Terminal) {
	f.Helper()
	select {
	case <-t.Released():
	case <-time.After(time.Minute):
		require.Fail(f, "the terminal is not released")
	}
	require.NotContains(f, f.manager.Terminals(), t)
}

const (
	initializeRequest = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
		`"capabilities":{},"clientInfo":{"name":"agent","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	listRequest = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
)

// request returns a request of an entry that is in order.
func (f *front) request(e *Entry, method, body string) *http.Request {
	f.Helper()
	r, err := http.NewRequestWithContext(f.Context(), method, e.URL, strings.NewReader(body))
	require.NoError(f, err)
	for _, h := range e.Headers {
		r.Header.Set(h.Name, h.Value)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	return r
}

// send sends a request on a connection of its own.
func (f *front) send(r *http.Request) (*http.Response, string) {
	f.Helper()
	connections := &http.Transport{DisableKeepAlives: true}
	response, err := (&http.Client{Transport: connections}).Do(r)
	require.NoError(f, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(f, err)
	return response, string(body)
}

// status sends a request and returns the status of the response.
func (f *front) status(r *http.Request) int {
	f.Helper()
	response, _ := f.send(r)
	return response.StatusCode
}

// initialize opens an MCP session and returns its ID.
func (f *front) initialize(e *Entry) string {
	f.Helper()
	response, body := f.send(f.request(e, "POST", initializeRequest))
	require.Equal(f, http.StatusOK, response.StatusCode, body)
	id := response.Header.Get("Mcp-Session-Id")
	require.NotEmpty(f, id)
	r := f.request(e, "POST", initialized)
	r.Header.Set("Mcp-Session-Id", id)
	require.Equal(f, http.StatusAccepted, f.status(r))
	return id
}

// idle waits until no request of an entry is open. The server may have written a response just before.
func (f *front) idle(e *Entry) {
	f.Helper()
	require.Eventually(f, func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		for k := range e.links {
			if k.requests > 0 {
				return false
			}
		}
		return true
	}, time.Minute, time.Millisecond)
}

// ask sends a request of an MCP session and returns the status of the response.
func (f *front) ask(e *Entry, id, body string) int {
	f.Helper()
	r := f.request(e, "POST", body)
	r.Header.Set("Mcp-Session-Id", id)
	return f.status(r)
}

// actAsChild lets the test binary act as a relay, as a host's executable does, or as another program that a test runs.
func actAsChild() {
	RunRelay()
	if len(os.Args) == 2 && os.Args[1] == "listen" {
		listenAsChild()
	}
	if len(os.Args) > 2 && os.Args[1] == "child" {
		otherUser(os.Args[2], os.Args[3:])
		os.Exit(0)
	}
}

// listenAsChild makes the test binary a server that announces nothing.
func listenAsChild() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	for {
		conn, err := l.Accept()
		if err != nil {
			panic(err)
		}
		conn.Close()
	}
}

func TestMain(m *testing.M) { actAsChild(); racetest.Main(m) }

// object is a JSON object.
type object = map[string]any

// call calls a tool that succeeds, and returns its structured result and its text.
func call[Out any](t *testing.T, s *mcp.ClientSession, tool string, arguments any) (Out, string) {
	t.Helper()
	result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	require.NoError(t, err)
	require.False(t, result.IsError, textOf(result))
	var out Out
	encoded, err := json.Marshal(result.StructuredContent)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(encoded, &out))
	return out, textOf(result)
}

// fails calls a tool that fails, and returns the text.
func fails(t *testing.T, s *mcp.ClientSession, tool string, arguments any) string {
	t.Helper()
	result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	require.NoError(t, err)
	require.True(t, result.IsError, textOf(result))
	return textOf(result)
}
