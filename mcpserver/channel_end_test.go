package mcpserver

// MCP over ACP: the beginning and the end of sessions, in any order.

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
)

// slowDirs is a Runner with a slow connection: sessions with roots take until proceed is closed to open.
type slowDirs struct {
	acptermtest.Commands
	asked   chan struct{} // has an element for each session that is being opened
	proceed chan struct{}
}

func (s slowDirs) RealDir(ctx context.Context, dir string) (string, error) {
	select {
	case s.asked <- struct{}{}:
	default:
	}
	<-s.proceed
	return s.Commands.RealDir(ctx, dir)
}

// newSlowPeer returns an agent of a host that opens sessions slowly.
func newSlowPeer(t *testing.T) (*acpPeer, slowDirs) {
	t.Helper()
	slow := slowDirs{blocking, make(chan struct{}, 1), make(chan struct{})}
	f := newFront(t, blocking, ListenOptions{})
	f.manager = acptermtest.NewManager(t, &acpterm.Options{Runner: slow})
	f.server = New(f.manager, &Options{Session: &acpterm.SessionOptions{Roots: []string{"/"}}})
	t.Cleanup(func() { require.NoError(t, f.server.Close()) })
	return newACPPeer(f), slow
}

func (p *acpPeer) dispatch(e *Entry, n uint64, arguments object) jsonrpc2.Waiter {
	p.Helper()
	id := jsonrpc2.ID{Num: n}
	params := p.message(e, id.String(), "tools/call", inner(object{"name": "run", "arguments": arguments}, nil))
	call, err := p.conn.DispatchCall(p.Context(), methodMessage, params, jsonrpc2.PickID(id))
	require.NoError(p, err)
	return call
}

// A session that is being opened does not keep the connection from being read.
func TestACPOpensSlowly(t *testing.T) {
	t.Parallel()
	p, slow := newSlowPeer(t)
	e, other := p.entry(), p.entry()
	hello := object{"command": "hello", "args": []string{}}
	first, second := p.dispatch(e, 1001, hello), p.dispatch(e, 1002, hello)
	<-slow.asked
	var result string
	require.NoError(t, p.conn.Call(t.Context(), "fs/read_text_file", nil, &result))
	require.Equal(t, "next", result)
	require.NoError(t, p.conn.Notify(t.Context(), acpterm.MethodCancelRequest, object{"requestId": 1002}))
	require.NoError(t, p.conn.Call(t.Context(), "fs/read_text_file", nil, &result))

	// The other entry is closed while its session is being opened.
	third := p.dispatch(other, 1003, hello)
	require.NoError(t, p.conn.Call(t.Context(), "fs/read_text_file", nil, &result))
	closed := make(chan error, 1)
	go func() { closed <- other.Close() }()
	close(slow.proceed)

	var answer mcpAnswer
	require.NoError(t, first.Wait(t.Context(), &answer))
	require.Equal(t, "hello\n", answer.Result.StructuredContent.(object)["output"])
	require.EqualValues(t, codeCancelled, codeOf(t, second.Wait(t.Context(), nil)))
	require.NoError(t, <-closed)
	if err := third.Wait(t.Context(), nil); err != nil { // or it was served just before
		require.Contains(t, []int64{codeCancelled, codeUnavailable}, codeOf(t, err))
	}
	require.LessOrEqual(t, p.manager.Stats().Sessions, 1)
}

// An agent that does not read gets no other session, so that it cannot make the host start more and more goroutines.
func TestACPAgentDoesNotReadTheEnd(t *testing.T) {
	t.Parallel()
	f := newFront(t, blocking, ListenOptions{})
	c := NewChannel(f.listener)
	hostEnd, agentEnd := net.Pipe()
	host := jsonrpc2.NewConn(t.Context(), jsonrpc2.NewPlainObjectStream(hostEnd), c.Handler(nil))
	e, err := c.Entry(f.server, "", json.RawMessage(agentACP))
	require.NoError(t, err)
	require.NoError(t, f.server.Close())
	line := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"mcp/message","params":{"serverId":%q,"requestId":"1",`+
		`"method":"tools/list","params":{"_meta":{%q:%q}}}}`, e.ServerID, mcp.MetaKeyProtocolVersion, versionOverACP)
	_, err = io.WriteString(agentEnd, line+"\n")
	require.NoError(t, err)
	a := c.entries[e.ServerID]
	var first *acpConnection
	require.Eventually(t, func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		first = a.conn
		return first != nil && first.ctx.Err() != nil
	}, time.Minute, time.Millisecond)
	require.Same(t, first, a.connection(host))
	answer, err := bufio.NewReader(agentEnd).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, answer, fmt.Sprint(codeFailed))
	require.Eventually(t, func() bool { return a.connection(host) != first }, time.Minute, time.Millisecond)
	require.NoError(t, host.Close())
	require.NoError(t, e.Close())
}

// Everything ends at the same time. All ends return, all requests are answered or fail with the connection, and no
// command or session remains.
func TestACPEndsInAnyOrder(t *testing.T) {
	t.Parallel()
	for n := range 20 {
		f := newFront(t, blocking, ListenOptions{})
		p := newACPPeer(f)
		entries := []*Entry{p.entry(), p.entry()}
		p.running(entries[0])
		var calls []jsonrpc2.Waiter
		for i := range uint64(16) {
			calls = append(calls, p.dispatch(entries[i%2], 1000+i, object{"command": "serve", "args": []string{}}))
		}
		ends := []func() error{
			entries[0].Close, entries[1].Close, f.server.Close, f.listener.Close, p.host.Close, entries[0].Close,
		}
		var ending sync.WaitGroup
		for i := range ends {
			ending.Go(func() { ends[(i+n)%len(ends)]() })
		}
		ending.Wait()
		for _, call := range calls {
			call.Wait(t.Context(), new(json.RawMessage))
		}
		require.NoError(t, t.Context().Err())
		require.NoError(t, f.server.Close())
		require.Empty(t, f.manager.Terminals())
		require.Zero(t, f.manager.Stats().Sessions)
		require.Eventually(t, func() bool { // the Channel ends by itself, too
			f.listener.mu.Lock()
			defer f.listener.mu.Unlock()
			return len(f.listener.entries) == 0
		}, time.Minute, time.Millisecond)
	}
}
