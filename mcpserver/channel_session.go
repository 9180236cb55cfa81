package mcpserver

// The MCP session of an entry of type acp. The requests of mcp/message become messages of one transport of the SDK.

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/sourcegraph/jsonrpc2"
)

// acpEntry is an entry of a Channel.
type acpEntry struct {
	entry *Entry

	mu   sync.Mutex
	conn *acpConnection // of its MCP session; nil before the first request
}

// connection returns the session's connection. If necessary, it begins to open a session. It does not wait for that,
// because the ACP connection is not read until Handle returns.
func (a *acpEntry) connection(acp *jsonrpc2.Conn) *acpConnection {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.conn == nil || a.conn.isOver() {
		a.conn = newACPConnection(acp, a.entry.ServerID)
		go a.conn.write()
		go a.serve(a.conn)
	}
	return a.conn
}

// serve opens a session and serves it on a connection, until either ends.
func (a *acpEntry) serve(c *acpConnection) {
	k, err := a.entry.open()
	switch {
	case errors.Is(err, errRevoked):
		c.fail(acpError(codeUnavailable, "there is no such server"))
	case err != nil:
		c.fail(acpError(codeFailed, "no session can be opened"))
	default:
		k.run(c)
	}
}

// cancel cancels the request with an ID of ACP. It reports whether it has found the request.
func (a *acpEntry) cancel(id jsonrpc2.ID) bool {
	a.mu.Lock()
	conn := a.conn
	a.mu.Unlock()
	return conn != nil && conn.cancel(id)
}

// acpConnection is the transport and the connection of an MCP session.
type acpConnection struct {
	acp      *jsonrpc2.Conn
	serverID string
	incoming chan jsonrpc.Message
	outgoing chan func() // writes to acp
	ctx      context.Context
	stop     context.CancelFunc // closes the connection
	over     chan struct{}      // closed when no request is left

	mu      sync.Mutex
	pending map[jsonrpc.ID]*acpRequest // those without an answer; nil at the end
	cause   *jsonrpc2.Error            // the answer to the requests that are left
}

// acpRequest is a request without an answer.
type acpRequest struct {
	id        jsonrpc2.ID // in ACP
	requestID string      // in MCP
	progress  any         // its progress token, a string or a float64, or nil
	cancelled bool        // guarded by acpConnection.mu
}

func newACPConnection(acp *jsonrpc2.Conn, serverID string) *acpConnection {
	c := &acpConnection{
		acp: acp, serverID: serverID, pending: make(map[jsonrpc.ID]*acpRequest),
		// While a session is being opened, there are at most maxCalls requests, and each can be cancelled once.
		incoming: make(chan jsonrpc.Message, 2*maxCalls), outgoing: make(chan func(), maxCalls),
		over: make(chan struct{}), cause: acpError(codeCancelled, "the session has ended"),
	}
	c.ctx, c.stop = context.WithCancel(context.Background())
	return c
}

// fail closes the connection. The requests that are left are answered with err.
func (c *acpConnection) fail(err *jsonrpc2.Error) {
	c.mu.Lock()
	c.cause = err
	c.mu.Unlock()
	c.stop()
}

func (c *acpConnection) isOver() bool {
	select {
	case <-c.over:
		return true
	default:
		return false
	}
}

// Connect implements mcp.Transport.
func (c *acpConnection) Connect(context.Context) (mcp.Connection, error) { return c, nil }

// SupportsProtocolVersion implements mcp.ProtocolVersionSupporter.
func (c *acpConnection) SupportsProtocolVersion(version string) bool {
	return version == versionOverACP
}

// SessionID implements mcp.Connection. Over ACP, MCP has no session ID.
func (c *acpConnection) SessionID() string { return "" }

// Close implements mcp.Connection.
func (c *acpConnection) Close() error {
	c.stop()
	return nil
}

// Read implements mcp.Connection.
func (c *acpConnection) Read(context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-c.incoming:
		return m, nil
	case <-c.ctx.Done():
		return nil, io.EOF
	}
}

// pass passes a message to the SDK, which reads without waiting for its calls.
func (c *acpConnection) pass(m jsonrpc.Message) {
	select {
	case c.incoming <- m:
	case <-c.ctx.Done():
	}
}

// add makes a request pending, and passes it to the SDK.
func (c *acpConnection) add(id jsonrpc2.ID, m acpMessage) *jsonrpc2.Error {
	r := &acpRequest{id: id, requestID: m.RequestID}
	json.Unmarshal(member(m.Params, "_meta", "progressToken"), &r.progress)
	switch r.progress.(type) {
	case string, float64:
	default:
		r.progress = nil
	}
	key, _ := jsonrpc.MakeID(m.RequestID)
	c.mu.Lock()
	err := c.admit(key)
	if err == nil {
		c.pending[key] = r
	}
	c.mu.Unlock()
	if err != nil {
		return err
	}
	c.pass(&jsonrpc.Request{ID: key, Method: m.Method, Params: m.Params})
	return nil
}

// admit refuses a request that cannot be added. c.mu is held.
func (c *acpConnection) admit(key jsonrpc.ID) *jsonrpc2.Error {
	switch {
	case c.pending == nil:
		return c.cause
	case c.pending[key] != nil:
		return acpError(jsonrpc2.CodeInvalidParams, "requestId is in use")
	case len(c.pending) >= maxCalls:
		return acpError(codeLimit, "too many requests are pending")
	}
	return nil
}

// cancel cancels the request with an ID of ACP. It reports whether it has found the request.
func (c *acpConnection) cancel(id jsonrpc2.ID) bool {
	c.mu.Lock()
	var found *acpRequest
	for _, r := range c.pending {
		if r.id == id {
			found = r
		}
	}
	first := found != nil && !found.cancelled
	if first {
		found.cancelled = true
	}
	c.mu.Unlock()
	if first {
		params, _ := json.Marshal(mcp.CancelledParams{RequestID: found.requestID})
		c.pass(&jsonrpc.Request{Method: "notifications/cancelled", Params: params})
	}
	return found != nil
}

// Write implements mcp.Connection. It does not wait for the agent to read, except that responses wait for room. A
// notification without room is dropped.
func (c *acpConnection) Write(_ context.Context, m jsonrpc.Message) error {
	switch m := m.(type) {
	case *jsonrpc.Response:
		encoded, err := jsonrpc.EncodeMessage(m)
		if err != nil {
			return err
		}
		select {
		case c.outgoing <- func() { c.answer(m.ID, encoded) }:
		case <-c.ctx.Done():
		}
	case *jsonrpc.Request:
		if m.IsCall() {
			return errors.New("an MCP server cannot call its client over ACP")
		}
		select {
		case c.outgoing <- func() { c.notify(m) }:
		default:
		}
	}
	return nil
}

// write writes answers and notifications in their order, until the connection is closed. Then it answers the requests
// that are left. It ends later if the agent does not read, and no other session is opened before.
func (c *acpConnection) write() {
	for c.ctx.Err() == nil {
		select {
		case write := <-c.outgoing:
			write()
		case <-c.ctx.Done():
		}
	}
	c.mu.Lock()
	left, cause := c.pending, c.cause
	c.pending = nil
	c.mu.Unlock()
	for _, r := range left {
		c.acp.ReplyWithError(context.Background(), r.id, cause)
	}
	close(c.over)
}

// answer answers a request with a response of MCP.
func (c *acpConnection) answer(id jsonrpc.ID, response []byte) {
	c.mu.Lock()
	r := c.pending[id]
	delete(c.pending, id) // first: the agent may use the ID again after it has read the answer
	c.mu.Unlock()
	if r == nil {
		return
	}
	var outcome acpOutcome
	if err := json.Unmarshal(response, &outcome); err != nil || r.cancelled {
		c.acp.ReplyWithError(context.Background(), r.id, acpError(codeCancelled, "cancelled"))
		return
	}
	c.acp.Reply(context.Background(), r.id, outcome)
}

// notify sends a notification about a pending request. Others cannot be sent over ACP.
func (c *acpConnection) notify(m *jsonrpc.Request) {
	if r := c.about(m.Params); r != nil {
		c.acp.Notify(context.Background(), methodMessage, acpMessage{c.serverID, r.requestID, m.Method, m.Params})
	}
}

// about returns the pending request that a notification is about, or nil.
func (c *acpConnection) about(params json.RawMessage) *acpRequest {
	var about struct {
		ProgressToken any
		Meta          map[string]any `json:"_meta"`
	}
	if json.Unmarshal(params, &about) != nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.pending {
		if about.Meta[mcp.MetaKeySubscriptionID] == any(r.requestID) ||
			r.progress != nil && about.ProgressToken == r.progress {
			return r
		}
	}
	return nil
}
