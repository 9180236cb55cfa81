package mcpserver

// The listener, and its entries.

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
)

// transports are the two ways in which an agent can connect.
var transports = map[string]string{"http": agentHTTP, "stdio": agentStdio}

func TestEndOfClientReleasesTerminals(t *testing.T) {
	for name, agent := range transports {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFront(t, blocking, ListenOptions{})
			e := f.entry(agent)
			s, other := f.connect(e), f.connect(e)
			mine, others := f.start(s), f.start(other)
			require.NoError(t, s.Close())
			f.released(mine)
			require.Equal(t, acpterm.StateRunning, others.Info().State)
		})
	}
}

func TestCloseOfEntryEndsItsSessions(t *testing.T) {
	for name, agent := range transports {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFront(t, blocking, ListenOptions{})
			e, kept := f.entry(agent), f.entry(agent)
			s, other := f.connect(e), f.connect(kept)
			f.start(s)
			f.start(s)
			others := f.start(other)
			waits := make(chan error, 1)
			go func() {
				_, err := s.CallTool(t.Context(), &mcp.CallToolParams{
					Name: "run", Arguments: object{"command": "serve", "args": []string{}, "wait_ms": 600_000},
				})
				waits <- err
			}()
			require.Eventually(t, func() bool { return len(f.manager.Terminals()) == 4 }, time.Minute, time.Millisecond)

			require.NoError(t, e.Close())
			require.Equal(t, []*acpterm.Terminal{others}, f.manager.Terminals())
			<-waits
			require.Error(t, s.Ping(t.Context(), nil))
			require.NoError(t, other.Ping(t.Context(), nil))
			require.NoError(t, e.Close())
		})
	}
}

// A session that is being opened when its entry is closed ends, too, and none is opened afterwards, although its request
// came before.
func TestCloseOfEntryWhileASessionOpens(t *testing.T) {
	t.Parallel()
	f := newFront(t, blocking, ListenOptions{})
	in, proceed := make(chan bool, 2), make(chan struct{})
	server := New(f.manager, &Options{Opened: func(acpterm.SessionID) func() { in <- true; <-proceed; return nil }})
	e, err := server.Entry(f.listener, "", json.RawMessage(agentHTTP))
	require.NoError(t, err)
	request, status := f.request(e, "POST", initializeRequest), make(chan int, 1)
	go func() {
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			status <- 0
			return
		}
		response.Body.Close()
		status <- response.StatusCode
	}()
	<-in
	closed := make(chan error, 1)
	go func() { closed <- e.Close() }()
	require.Eventually(t, func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.closed
	}, time.Minute, time.Millisecond)
	close(proceed)
	select {
	case err := <-closed:
		require.NoError(t, err)
	case <-time.After(time.Minute):
		require.Fail(t, "the session is left")
	}
	require.Equal(t, http.StatusUnauthorized, <-status)
	_, err = e.open()
	require.ErrorIs(t, err, errRevoked)
	require.Empty(t, in)
	require.Zero(t, f.manager.Stats().Sessions)
}

// A host lists tokens and sessions, and ends one of them.
func TestEntriesAndTheirSessions(t *testing.T) {
	f := newFront(t, blocking, ListenOptions{})
	first, second := f.entry(agentHTTP), f.entry(agentStdio)
	require.Equal(t, []*Entry{first, second}, f.listener.Entries())
	require.Empty(t, first.Sessions())
	for _, e := range []*Entry{first, second} {
		ended, other := f.start(f.connect(e)), f.start(f.connect(e))
		all := e.Sessions()
		require.Len(t, all, 2)
		require.Equal(t, ended.SessionID(), all[0].ID)
		require.Equal(t, other.SessionID(), all[1].ID)
		require.Equal(t, "agent 1", all[0].Client)
		require.False(t, all[0].Opened.Before(e.Created()))
		require.NoError(t, e.CloseSession(all[0].ID))
		require.NotContains(t, f.manager.Terminals(), ended)
		require.Contains(t, f.manager.Terminals(), other)
		require.Len(t, e.Sessions(), 1)
		require.ErrorIs(t, e.CloseSession(all[0].ID), acpterm.ErrSessionNotFound)
		f.connect(e) // the token is still valid
		require.NoError(t, e.Close())
		require.Empty(t, e.Sessions())
		require.NotContains(t, f.listener.Entries(), e)
	}
	relayed, unused := f.entry(agentStdio), f.entry(agentHTTP)
	f.connect(relayed)
	require.Zero(t, relayed.Sessions()[0].Idle) // its relay runs
	id := f.initialize(unused)
	f.idle(unused)
	about := unused.Sessions()[0]
	require.False(t, about.Idle.Before(about.Opened))
	r := f.request(unused, "GET", "") // a stream that stays open
	r.Header.Set("Mcp-Session-Id", id)
	r.Header.Set("Accept", "text/event-stream")
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	require.Zero(t, unused.Sessions()[0].Idle)
}

func TestCloseOfListener(t *testing.T) {
	t.Parallel()
	f := newFront(t, blocking, ListenOptions{})
	for _, agent := range transports {
		f.start(f.connect(f.entry(agent)))
	}
	require.NoError(t, f.listener.Close())
	require.Empty(t, f.manager.Terminals())
	_, err := f.server.Entry(f.listener, "", []byte(agentHTTP))
	require.Error(t, err)
	_, err = f.server.Entry(f.listener, "", []byte(agentStdio))
	require.Error(t, err)
	require.NoError(t, f.listener.Close())
}

// The end of a session does not wait for its calls, and answers them.
func TestEndOfSessionAnswersCalls(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*front, *Entry, string){
		"by the entry":  func(f *front, e *Entry, _ string) { require.NoError(f, e.Close()) },
		"by the Server": func(f *front, _ *Entry, _ string) { require.NoError(f, f.server.Close()) },
		"by the client": func(f *front, e *Entry, id string) {
			r := f.request(e, "DELETE", "")
			r.Header.Set("Mcp-Session-Id", id)
			require.Equal(f, http.StatusNoContent, f.status(r))
			require.Equal(f, http.StatusNotFound, f.status(r))
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFront(t, blocking, ListenOptions{})
			e := f.entry(agentHTTP)
			id := f.initialize(e)
			r := f.request(e, "POST", `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"run",`+
				`"arguments":{"command":"serve","args":[],"wait_ms":600000}}}`)
			r.Header.Set("Mcp-Session-Id", id)
			answer := make(chan string, 1)
			go func() {
				_, body := f.send(r)
				answer <- body
			}()
			require.Eventually(t, func() bool { return len(f.manager.Terminals()) == 1 }, time.Minute, time.Millisecond)
			end(f, e, id)
			require.Empty(t, f.manager.Terminals())
			require.Contains(t, <-answer, `"id":3,"result":`)
		})
	}
}

func TestWaitWithoutProgress(t *testing.T) {
	t.Parallel()
	f := newFront(t, blocking, ListenOptions{})
	for transport, quiet := range map[string]time.Duration{"http": quietWait, "stdio": 0} {
		e := f.entry(transports[transport])
		s := f.connect(e)
		var k *link
		e.mu.Lock()
		for k = range e.links {
		}
		e.mu.Unlock()
		require.Equal(t, quiet, k.session.quiet, transport)
		k.session.quiet = time.Millisecond
		r, _ := call[commandResult](t, s, "run", object{"command": "serve", "args": []string{}, "wait_ms": 600_000})
		require.Equal(t, "running", r.State)

		// With a progress token, it waits until the command ends.
		params := &mcp.CallToolParams{Name: "wait", Arguments: object{"id": r.ID, "wait_ms": 600_000}}
		params.SetProgressToken("token")
		time.AfterFunc(100*time.Millisecond, func() { f.terminal(r.ID).Kill(context.Background()) })
		result, err := s.CallTool(t.Context(), params)
		require.NoError(t, err)
		require.Contains(t, textOf(result), "ended", transport)
	}
}

func TestIdleSessionsEnd(t *testing.T) {
	t.Parallel()
	f := newFront(t, blocking, ListenOptions{IdleTimeout: 5 * time.Second})
	e := f.entry(agentHTTP)
	listening := f.connect(e)
	kept := f.start(listening)
	transport := f.transport(e)
	transport.DisableStandaloneSSE = true
	s := f.connectTo(transport)
	f.released(f.start(s))
	require.Error(t, s.Ping(t.Context(), nil))
	require.Equal(t, acpterm.StateRunning, kept.Info().State)
	require.NoError(t, listening.Ping(t.Context(), nil))
}

func TestIdleSessionsMakeRoom(t *testing.T) {
	t.Parallel()
	f := newFront(t, blocking, ListenOptions{MaxSessions: 3})
	e := f.entry(agentHTTP)
	var ids []string
	for range 3 {
		ids = append(ids, f.initialize(e))
		f.idle(e)
	}
	for i, command := range []string{"serve", "hello", "hello"} { // only the first goes on
		require.Equal(t, http.StatusOK, f.ask(e, ids[i], `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":`+
			`{"name":"run","arguments":{"command":"`+command+`","args":[],"wait_ms":0}}}`))
		f.idle(e)
	}
	for _, terminal := range f.manager.Terminals()[1:] {
		<-terminal.Done()
	}
	f.initialize(e)
	require.Equal(t, http.StatusNotFound, f.ask(e, ids[1], listRequest))
	require.Equal(t, http.StatusOK, f.ask(e, ids[0], listRequest))
	require.Equal(t, http.StatusOK, f.ask(e, ids[2], listRequest))
}

func TestLateTimerDoesNotEndASession(t *testing.T) {
	t.Parallel()
	f := newFront(t, blocking, ListenOptions{})
	e := f.entry(agentHTTP)
	id := f.initialize(e)
	f.idle(e)
	for k := range e.links {
		k.expire() // as a timer that a request could no longer stop
	}
	require.Equal(t, http.StatusOK, f.ask(e, id, listRequest))
}

func TestIPv6(t *testing.T) {
	t.Parallel()
	probe, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("no IPv6")
	}
	probe.Close()
	f := newFront(t, blocking, ListenOptions{Addr: "[::1]:0"})
	require.NoError(t, f.connect(f.entry(agentHTTP)).Ping(t.Context(), nil))
}

func TestInvalidOptions(t *testing.T) {
	for _, addr := range []string{
		":0", "0.0.0.0:0", "[::]:0", "192.0.2.1:0", "localhost:0", "example.com:80", "127.0.0.1", "[::ffff:192.0.2.1]:0", "x",
	} {
		_, err := Listen(&ListenOptions{Addr: addr})
		require.ErrorContains(t, err, "ListenOptions.Addr", addr)
	}
	for option, options := range map[string]ListenOptions{
		"Relay": {Relay: "relay"}, "MaxSessions": {MaxSessions: -1}, "MaxBody": {MaxBody: -1},
		"IdleTimeout": {IdleTimeout: -1},
	} {
		_, err := Listen(&options)
		require.ErrorContains(t, err, "ListenOptions."+option)
	}
	l, err := Listen(nil)
	require.NoError(t, err)
	_, err = Listen(&ListenOptions{Addr: l.addr})
	require.Error(t, err)
	require.NoError(t, l.Close())
}

func TestEntry(t *testing.T) {
	t.Parallel()
	f := newFront(t, blocking, ListenOptions{})
	for name, test := range map[string]struct {
		initialize, schema, definition, typ string
	}{
		"v1 http":             {agentHTTP, "acp.v1.json", "McpServerHttp", "http"},
		"v1 without http":     {agentStdio, "acp.v1.json", "McpServerStdio", ""},
		"v1 http of odd type": {`{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{"http":{}}}}`, "acp.v1.json", "McpServerStdio", ""},
		"v1 odd capabilities": {`{"protocolVersion":1,"agentCapabilities":[7]}`, "acp.v1.json", "McpServerStdio", ""},
		"v2 http":             {`{"protocolVersion":2,"capabilities":{"session":{"mcp":{"stdio":{},"http":{}}}}}`, "acp.v2.json", "McpServerHttp", "http"},
		"v2 stdio":            {`{"protocolVersion":2,"capabilities":{"session":{"mcp":{"stdio":{"_meta":null},"http":null}}}}`, "acp.v2.json", "McpServerStdio", "stdio"},
	} {
		e := f.entry(test.initialize)
		require.Equal(t, test.typ, e.Type, name)
		encoded, err := json.Marshal(e)
		require.NoError(t, err)
		validate(t, test.schema, "", encoded)
		validate(t, test.schema, test.definition, encoded)
		require.Equal(t, "acpterm", e.Name)
	}
	one, err := f.server.Entry(f.listener, "local", json.RawMessage(agentHTTP))
	require.NoError(t, err)
	require.Equal(t, "local", one.Name)
	require.NotEqual(t, one.Headers, f.entry(agentHTTP).Headers)
}

// validate validates a document against a definition of a schema, or the schema itself.
func validate(t *testing.T, file, definition string, document []byte) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + file)
	require.NoError(t, err)
	var schema jsonschema.Schema
	require.NoError(t, json.Unmarshal(data, &schema))
	if definition != "" {
		schema.Ref = "#/$defs/" + definition
	}
	resolved, err := schema.Resolve(nil)
	require.NoError(t, err)
	var value any
	require.NoError(t, json.Unmarshal(document, &value))
	require.NoError(t, resolved.Validate(value), string(document))
}

func TestEntryFails(t *testing.T) {
	t.Parallel()
	f := newFront(t, blocking, ListenOptions{})
	for name, initialize := range map[string]string{
		"nothing": ``, "null": `null`, "an array": `[]`, "no version": `{}`, "another version": `{"protocolVersion":3}`,
		"an odd version":             `{"protocolVersion":"1"}`,
		"v2 without any":             `{"protocolVersion":2,"capabilities":{"session":{}}}`,
		"v2 with another":            `{"protocolVersion":2,"capabilities":{"session":{"mcp":{"acp":{}}}}}`,
		"v2 with values of v1":       `{"protocolVersion":2,"agentCapabilities":{"mcpCapabilities":{"http":true}}}`,
		"v2 with odd values":         `{"protocolVersion":2,"capabilities":{"session":{"mcp":{"http":true,"stdio":[]}}}}`,
		"v2 with odd capabilities":   `{"protocolVersion":2,"capabilities":"all"}`,
		"v2 with a session of null":  `{"protocolVersion":2,"capabilities":{"session":null}}`,
		"version 1 and then garbage": `{"protocolVersion":1} x`,
	} {
		_, err := f.server.Entry(f.listener, "", json.RawMessage(initialize))
		require.Error(t, err, name)
	}
	require.Empty(t, f.listener.entries)
}

func TestEntryWithoutRelay(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	l, err := Listen(nil)
	require.NoError(t, err)
	defer l.Close()
	m, err := acpterm.NewManager(nil)
	require.NoError(t, err)
	defer m.Close()
	_, err = New(m, nil).Entry(l, "", json.RawMessage(agentStdio))
	require.ErrorContains(t, err, "acpterm-mcp-relay")
	require.ErrorContains(t, err, "ListenOptions.Relay")
}
