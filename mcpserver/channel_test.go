package mcpserver

// MCP over ACP: the client's side, with an agent on the other end of a connection.

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/mcpserver/internal/relay"
)

const agentACP = `{"protocolVersion":2,"capabilities":{"session":{"mcp":{"stdio":{},"http":{},"acp":{}}}}}`

// acpPeer is an agent with an ACP connection to the host.
type acpPeer struct {
	*front
	channel *Channel
	conn    *jsonrpc2.Conn
	host    *jsonrpc2.Conn

	mu       sync.Mutex
	progress []acpMessage
}

// newACPPeer connects an agent to a host. The host answers requests that the Channel passes on with "next".
func newACPPeer(f *front) *acpPeer {
	f.Helper()
	p := &acpPeer{front: f, channel: NewChannel(f.listener)}
	hostEnd, agentEnd := net.Pipe()
	next := jsonrpc2.HandlerWithError(func(context.Context, *jsonrpc2.Conn, *jsonrpc2.Request) (any, error) {
		return "next", nil
	})
	ctx := context.Background()
	p.host = jsonrpc2.NewConn(ctx, jsonrpc2.NewPlainObjectStream(hostEnd), p.channel.Handler(next))
	p.conn = jsonrpc2.NewConn(ctx, jsonrpc2.NewPlainObjectStream(agentEnd), jsonrpc2.HandlerWithError(p.take))
	f.Cleanup(func() {
		p.conn.Close()
		<-p.host.DisconnectNotify()
		p.channel.close()
	})
	return p
}

func (p *acpPeer) take(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
	var m acpMessage
	if err := json.Unmarshal(*req.Params, &m); err != nil || req.Method != methodMessage || !req.Notif {
		return nil, errors.New("unexpected " + req.Method)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.progress = append(p.progress, m)
	return nil, nil
}

func (p *acpPeer) entry() *Entry {
	p.Helper()
	e, err := p.channel.Entry(p.server, "", json.RawMessage(agentACP))
	require.NoError(p, err)
	return e
}

// inner returns the params of a request of MCP, with the metadata that the version needs.
func inner(params object, meta object) object {
	all := object{mcp.MetaKeyProtocolVersion: versionOverACP, mcp.MetaKeyClientCapabilities: object{}}
	for name, value := range meta {
		all[name] = value
	}
	with := object{"_meta": all}
	for name, value := range params {
		with[name] = value
	}
	return with
}

func (p *acpPeer) message(e *Entry, id, method string, params object) object {
	return object{"serverId": e.ServerID, "requestId": id, "method": method, "params": params}
}

// mcpAnswer is the outcome of a request of MCP.
type mcpAnswer struct {
	Result *mcp.CallToolResult
	Error  *struct {
		Code int64
		Data json.RawMessage
	}
}

// call sends a request. It returns the error of ACP, if any.
func (p *acpPeer) call(params any) (a mcpAnswer, err error) {
	err = p.conn.Call(p.Context(), methodMessage, params, &a)
	return a, err
}

// run calls the tool run.
func (p *acpPeer) run(e *Entry, id string, arguments, meta object) (a mcpAnswer, err error) {
	return p.call(p.message(e, id, "tools/call", inner(object{"name": "run", "arguments": arguments}, meta)))
}

// running starts a command that blocks, and returns its terminal.
func (p *acpPeer) running(e *Entry) *acpterm.Terminal {
	p.Helper()
	a, err := p.run(e, "start", object{"command": "serve", "args": []string{}, "wait_ms": 0}, nil)
	require.NoError(p, err)
	return p.terminal(a.Result.StructuredContent.(object)["id"].(string))
}

func codeOf(t *testing.T, err error) int64 {
	t.Helper()
	refused, ok := errors.AsType[*jsonrpc2.Error](err)
	require.True(t, ok, "%v", err)
	return refused.Code
}

func TestACPEntry(t *testing.T) {
	t.Parallel()
	f := newFront(t, blocking, ListenOptions{})
	c := NewChannel(f.listener)
	for initialize, want := range map[string]string{
		agentACP: "acp", agentHTTP: "http", agentStdio: "",
		`{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{"http":true,"acp":true}}}`: "acp",
		`{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{"http":true,"acp":{}}}}`:   "http",
		`{"protocolVersion":2,"capabilities":{"session":{"mcp":{"acp":{}}}}}`:                    "acp",
		`{"protocolVersion":2,"capabilities":{"session":{"mcp":{"stdio":{},"acp":null}}}}`:       "stdio",
	} {
		e, err := c.Entry(f.server, "local", json.RawMessage(initialize))
		require.NoError(t, err, initialize)
		require.Equal(t, want, e.Type, initialize)
		encoded, err := json.Marshal(e)
		require.NoError(t, err)
		if want == "acp" {
			require.JSONEq(t, fmt.Sprintf(`{"type":"acp","name":"local","serverId":%q}`, e.ServerID), string(encoded))
		} else {
			require.NotContains(t, string(encoded), "serverId")
		}
	}
	for _, initialize := range []string{`{}`, `{"protocolVersion":2,"capabilities":{"session":{"mcp":{"acp":true}}}}`} {
		_, err := c.Entry(f.server, "", json.RawMessage(initialize))
		require.Error(t, err, initialize)
	}
	require.NoError(t, f.listener.Close())
	_, err := c.Entry(f.server, "", json.RawMessage(agentACP))
	require.ErrorIs(t, err, net.ErrClosed)
}

func TestACPAgentRunsCommands(t *testing.T) {
	t.Parallel()
	p := newACPPeer(newFront(t, blocking, ListenOptions{}))
	e := p.entry()
	var discovered struct {
		Result struct{ SupportedVersions []string }
	}
	discover := p.message(e, "1", "server/discover", inner(nil, nil))
	require.NoError(t, p.conn.Call(t.Context(), methodMessage, discover, &discovered))
	require.Equal(t, []string{versionOverACP}, discovered.Result.SupportedVersions)

	a, err := p.run(e, "1", object{"command": "hello", "args": []string{}}, nil)
	require.NoError(t, err)
	require.Equal(t, "hello\n", a.Result.StructuredContent.(object)["output"])
	require.Equal(t, p.manager.Terminals()[0].Output().Output, "hello\n")
	terminal := p.running(e)
	require.Equal(t, terminal.SessionID(), p.manager.Terminals()[0].SessionID(), "it is one session")

	other := p.entry()
	params := inner(object{"name": "output", "arguments": object{"id": string(terminal.ID())}}, nil)
	a, err = p.call(p.message(other, "1", "tools/call", params))
	require.NoError(t, err)
	require.True(t, a.Result.IsError)
	require.Contains(t, textOf(a.Result), "not found")

	var result string
	require.NoError(t, p.conn.Call(t.Context(), "fs/read_text_file", nil, &result))
	require.Equal(t, "next", result)
	require.Empty(t, p.progress)
}

func TestACPProgress(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("it needs a shell of Unix")
	}
	p := newACPPeer(newFront(t, nil, ListenOptions{}))
	e := p.entry()
	command := object{"command": "echo waiting; until test -e reported; do sleep 0.05; done", "cwd": t.TempDir()}
	for _, token := range []any{"token", 7} {
		answered := make(chan error, 1)
		go func() {
			_, err := p.run(e, "one", command, object{"progressToken": token})
			answered <- err
		}()
		require.Eventually(t, func() bool {
			p.mu.Lock()
			defer p.mu.Unlock()
			return len(p.progress) > 0
		}, time.Minute, time.Millisecond)
		p.mu.Lock()
		m := p.progress[0]
		p.mu.Unlock()
		require.Equal(t, acpMessage{e.ServerID, "one", "notifications/progress", m.Params}, m)
		require.Contains(t, string(m.Params), "waiting")
		encoded, _ := json.Marshal(token)
		require.Contains(t, string(m.Params), `"progressToken":`+string(encoded))
		for _, terminal := range p.manager.Terminals() {
			require.NoError(t, terminal.Kill(t.Context()))
		}
		require.NoError(t, <-answered)
		p.mu.Lock()
		p.progress = nil
		p.mu.Unlock()
	}
}

func TestACPCancel(t *testing.T) {
	t.Parallel()
	p := newACPPeer(newFront(t, blocking, ListenOptions{}))
	e := p.entry()
	for _, kill := range []bool{false, true} {
		arguments := object{"command": "serve", "args": []string{}, "wait_ms": 600_000, "kill_on_cancel": kill}
		call, err := p.conn.DispatchCall(t.Context(), methodMessage,
			p.message(e, "one", "tools/call", inner(object{"name": "run", "arguments": arguments}, nil)),
			jsonrpc2.PickID(jsonrpc2.ID{Num: 77}))
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			all := p.manager.Terminals()
			return len(all) > 0 && all[len(all)-1].State() == acpterm.StateRunning
		}, time.Minute, time.Millisecond)
		all := p.manager.Terminals()
		for range 2 {
			require.NoError(t, p.conn.Notify(t.Context(), acpterm.MethodCancelRequest, object{"requestId": 77}))
		}
		require.EqualValues(t, codeCancelled, codeOf(t, call.Wait(t.Context(), nil)))
		terminal := all[len(all)-1]
		if kill {
			<-terminal.Done()
		} else {
			require.Equal(t, acpterm.StateRunning, terminal.State())
			require.NoError(t, terminal.Kill(t.Context()))
		}
	}
	for _, params := range []any{nil, 7, object{"requestId": nil}, object{"requestId": []int{}}, object{"requestId": 77}} {
		require.NoError(t, p.conn.Notify(t.Context(), acpterm.MethodCancelRequest, params))
	}
	require.NoError(t, p.conn.Notify(t.Context(), methodMessage, object{"serverId": e.ServerID}))
	_, err := p.run(e, "one", object{"command": "hello", "args": []string{}}, nil)
	require.NoError(t, err)
}

func TestACPRefusals(t *testing.T) {
	t.Parallel()
	p := newACPPeer(newFront(t, blocking, ListenOptions{MaxBody: 10_000}))
	e, closed := p.entry(), p.entry()
	require.NoError(t, closed.Close())
	for _, params := range []any{
		nil, 7, "text", []int{1}, object{}, object{"serverId": e.ServerID, "method": "tools/list"},
		object{"serverId": e.ServerID, "requestId": 7, "method": "tools/list"},
		object{"serverId": e.ServerID, "requestId": nil, "method": "tools/list"},
		object{"serverId": e.ServerID, "requestId": "1", "method": []int{}},
		object{"serverId": e.ServerID, "requestId": "1", "method": "tools/list", "params": []int{}},
		object{"serverId": e.ServerID, "requestId": "1", "method": "tools/list", "params": 7},
		object{"serverId": object{}, "requestId": "1", "method": "tools/list"},
	} {
		_, err := p.call(params)
		require.EqualValues(t, jsonrpc2.CodeInvalidParams, codeOf(t, err), "%v", params)
	}
	for _, of := range []*Entry{closed, {ServerID: "x"}, {}} {
		_, err := p.call(p.message(of, "1", "tools/list", inner(nil, nil)))
		require.EqualValues(t, codeUnavailable, codeOf(t, err))
	}
	_, err := p.call(p.message(e, strings.Repeat("x", 10_000), "tools/list", inner(nil, nil)))
	require.EqualValues(t, codeLimit, codeOf(t, err))
	require.Zero(t, p.manager.Stats().Sessions, "nothing was opened")

	for _, refused := range []struct {
		params any
		method string
		code   int64
	}{
		{nil, "tools/list", -32602}, {object{}, "tools/list", -32602}, {object{"_meta": 7}, "tools/list", -32602},
		{object{"_meta": object{mcp.MetaKeyProtocolVersion: 7}}, "tools/list", -32602},
		{inner(nil, object{mcp.MetaKeyClientCapabilities: nil}), "tools/list", -32602},
		{inner(nil, object{mcp.MetaKeyProtocolVersion: "2025-11-25"}), "initialize", mcp.CodeUnsupportedProtocolVersion},
		{inner(nil, object{mcp.MetaKeyProtocolVersion: "2099-01-01"}), "tools/list", mcp.CodeUnsupportedProtocolVersion},
		{inner(nil, nil), "initialize", -32601}, {inner(nil, nil), "none", -32601}, {inner(nil, nil), "", -32601},
		{inner(nil, nil), "notifications/initialized", -32601}, {inner(nil, nil), "notifications/cancelled", -32600},
		{inner(object{"name": "none"}, nil), "tools/call", -32602},
	} {
		a, err := p.call(object{"serverId": e.ServerID, "requestId": "1", "method": refused.method, "params": refused.params})
		require.NoError(t, err)
		require.NotNil(t, a.Error, "%v", refused)
		require.Equal(t, refused.code, a.Error.Code, "%v", refused)
	}
	require.Zero(t, len(p.manager.Terminals()))
}

// The ID of a server is no token for the other transports.
func TestServerIDIsNoToken(t *testing.T) {
	t.Parallel()
	f := newFront(t, blocking, ListenOptions{})
	p := newACPPeer(f)
	id := p.entry().ServerID
	e, relayed := f.entry(agentHTTP), f.entry(agentStdio)
	e.Headers[0].Value = "Bearer " + id
	require.Equal(t, http.StatusUnauthorized, f.status(f.request(e, "POST", initializeRequest)))
	setValue(relayed, relay.TokenVariable, id)
	require.ErrorContains(t, exchange(relayCommand(relayed), initializeRequest+"\n"), "refused the connection")
	_, err := newACPPeer(f).run(&Entry{ServerID: id}, "1", object{"command": "hello"}, nil)
	require.EqualValues(t, codeUnavailable, codeOf(t, err), "another connection does not have it")
}

func TestACPBounds(t *testing.T) {
	t.Parallel()
	p := newACPPeer(newFront(t, blocking, ListenOptions{}))
	e, other := p.entry(), p.entry()
	terminal := p.running(e)
	wait := func(id string) jsonrpc2.Waiter {
		arguments := object{"id": string(terminal.ID()), "wait_ms": 600_000}
		call, err := p.conn.DispatchCall(t.Context(), methodMessage,
			p.message(e, id, "tools/call", inner(object{"name": "wait", "arguments": arguments}, nil)))
		require.NoError(t, err)
		return call
	}
	var waits []jsonrpc2.Waiter
	for n := range maxCalls {
		waits = append(waits, wait(fmt.Sprint(n)))
	}
	require.EqualValues(t, jsonrpc2.CodeInvalidParams, codeOf(t, wait("0").Wait(t.Context(), nil)))
	require.EqualValues(t, codeLimit, codeOf(t, wait("more").Wait(t.Context(), nil)))
	_, err := p.run(other, "1", object{"command": "hello", "args": []string{}}, nil)
	require.NoError(t, err)

	// The end of the entry answers all of them, and releases the terminal.
	require.NoError(t, e.Close())
	for _, w := range waits {
		if err := w.Wait(t.Context(), nil); err != nil { // or the result said so
			require.EqualValues(t, codeCancelled, codeOf(t, err))
		}
	}
	p.released(terminal)
	require.NotContains(t, p.channel.entries, e.ServerID)
	_, err = p.run(e, "1", object{"command": "hello"}, nil)
	require.EqualValues(t, codeUnavailable, codeOf(t, err))
	require.NoError(t, p.server.Close())
	require.Eventually(t, func() bool {
		_, err := p.run(other, "1", object{"command": "hello"}, nil) // cancelled while the session is ending
		refused, ok := errors.AsType[*jsonrpc2.Error](err)
		return ok && refused.Code == codeFailed
	}, time.Minute, time.Millisecond)
}

func TestEndOfACPConnectionReleasesTerminals(t *testing.T) {
	t.Parallel()
	f := newFront(t, blocking, ListenOptions{})
	p, other := newACPPeer(f), newACPPeer(f)
	terminal, kept := p.running(p.entry()), other.running(other.entry())
	require.NoError(t, p.conn.Close())
	p.released(terminal)
	require.Equal(t, acpterm.StateRunning, kept.State())
	require.Eventually(t, func() bool {
		_, err := p.channel.Entry(p.server, "", json.RawMessage(agentACP))
		return errors.Is(err, net.ErrClosed)
	}, time.Minute, time.Millisecond)
}

// An agent that does not read its answers does not keep an entry from closing.
func TestACPAgentDoesNotRead(t *testing.T) {
	f := newFront(t, blocking, ListenOptions{})
	c := NewChannel(f.listener)
	hostEnd, agentEnd := net.Pipe()
	host := jsonrpc2.NewConn(context.Background(), jsonrpc2.NewPlainObjectStream(hostEnd), c.Handler(nil))
	e, err := c.Entry(f.server, "", json.RawMessage(agentACP))
	require.NoError(t, err)
	arguments := object{"command": "serve", "args": []string{}, "wait_ms": 0}
	for n := range maxCalls {
		params := object{"serverId": e.ServerID, "requestId": fmt.Sprint(n), "method": "tools/call",
			"params": inner(object{"name": "run", "arguments": arguments}, nil)}
		line, err := json.Marshal(object{"jsonrpc": "2.0", "id": n, "method": methodMessage, "params": params})
		require.NoError(t, err)
		_, err = agentEnd.Write(append(line, '\n'))
		require.NoError(t, err)
	}
	require.NoError(t, e.Close())
	require.Empty(t, f.manager.Terminals())

	answers := make(chan int)
	go func() {
		n := 0
		for lines := bufio.NewScanner(agentEnd); lines.Scan(); n++ {
		}
		answers <- n
	}()
	require.NoError(t, host.Close())
	<-host.DisconnectNotify()
	require.NoError(t, agentEnd.Close())
	<-answers
	require.Eventually(t, func() bool {
		stacks := make([]byte, 1<<20)
		return !strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "acpConnection")
	}, time.Minute, time.Millisecond)
	_, err = io.WriteString(hostEnd, "x")
	require.Error(t, err)
}

// A question about a command is the result of the call, and the answer comes with the repeated call.
func TestACPAsks(t *testing.T) {
	t.Parallel()
	f := newFront(t, blocking, ListenOptions{})
	f.manager = acptermtest.NewManager(t, &acpterm.Options{
		Runner: blocking, Approve: AskClient,
		Policy: acpterm.PolicyFunc(func(context.Context, acpterm.Proposal) acpterm.Decision {
			return acpterm.Decision{Verdict: acpterm.VerdictAsk}
		}),
	})
	f.server = New(f.manager, nil)
	p := newACPPeer(f)
	e, other := p.entry(), p.entry()
	call := func(of *Entry, more object) (result struct {
		RequestState      string
		InputRequests     map[string]json.RawMessage
		StructuredContent struct{ Output string }
		IsError           bool
	}) {
		params := inner(object{"name": "run", "arguments": object{"command": "hello", "args": []string{}}},
			object{mcp.MetaKeyClientCapabilities: object{"elicitation": object{}}})
		maps.Copy(params, more)
		answer := struct{ Result any }{&result}
		require.NoError(t, p.conn.Call(t.Context(), methodMessage, p.message(of, "1", "tools/call", params), &answer))
		return result
	}
	asked := call(e, nil)
	require.Contains(t, string(asked.InputRequests[questionName]), "hello")
	allow := object{
		"requestState":   asked.RequestState,
		"inputResponses": object{questionName: object{"action": "accept", "content": object{"answer": "allow_once"}}},
	}
	require.True(t, call(other, allow).IsError, "another session cannot answer")
	require.Equal(t, "hello\n", call(e, allow).StructuredContent.Output)
	require.True(t, call(e, allow).IsError, "an answer is for one call")
	require.NoError(t, f.server.Close())
}
