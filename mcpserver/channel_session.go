package mcpserver

// The MCP session of an entry of type acp. The requests of mcp/message become messages of one transport of the SDK.

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"reflect"
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

// connection returns the session's connection. If necessary, it opens a session.
func (a *acpEntry) connection(acp *jsonrpc2.Conn) (*acpConnection, *jsonrpc2.Error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.conn != nil && a.conn.ctx.Err() == nil {
		return a.conn, nil
	}
	k, err := a.entry.open()
	if errors.Is(err, errRevoked) {
		return nil, acpError(codeUnavailable, "there is no such server")
	}
	if err != nil {
		return nil, acpError(codeFailed, "no session can be opened")
	}
	a.conn = newACPConnection(acp, a.entry.ServerID)
	go a.conn.write()
	go k.run(a.conn)
	return a.conn, nil
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

	mu      sync.Mutex
	pending map[jsonrpc.ID]*acpRequest // those without an answer; nil at the end
}

// acpRequest is a request without an answer.
type acpRequest struct {
	id        jsonrpc2.ID // in ACP
	requestID string      // in MCP
	progress  any         // its progress token, or nil
	cancelled bool        // guarded by acpConnection.mu
}

func newACPConnection(acp *jsonrpc2.Conn, serverID string) *acpConnection {
	c := &acpConnection{
		acp: acp, serverID: serverID, pending: make(map[jsonrpc.ID]*acpRequest),
		incoming: make(chan jsonrpc.Message), outgoing: make(chan func(), maxCalls),
	}
	c.ctx, c.stop = context.WithCancel(context.Background())
	return c
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
	if token := member(m.Params, "_meta", "progressToken"); token != nil {
		json.Unmarshal(token, &r.progress)
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
		return acpError(codeCancelled, "the session has ended")
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
// that are left. It ends later if the agent does not read.
func (c *acpConnection) write() {
	for c.ctx.Err() == nil {
		select {
		case write := <-c.outgoing:
			write()
		case <-c.ctx.Done():
		}
	}
	c.mu.Lock()
	left := c.pending
	c.pending = nil
	c.mu.Unlock()
	for _, r := range left {
		c.acp.ReplyWithError(context.Background(), r.id, acpError(codeCancelled, "the session has ended"))
	}
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
			about.ProgressToken != nil && reflect.DeepEqual(about.ProgressToken, r.progress) {
			return r
		}
	}
	return nil
}
