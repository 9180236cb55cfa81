package mcpserver

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"

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
