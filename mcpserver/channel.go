package mcpserver

// MCP over ACP: the agent sends the requests of MCP on its ACP connection, by the method mcp/message. This file reads
// those; channel_session.go connects them to an MCP session.

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm"
)

// methodMessage is the method of all requests and notifications.
const methodMessage = "mcp/message"

// versionOverACP is the only version of MCP on a Channel. It has no handshake and no requests from the server.
const versionOverACP = "2026-07-28"

// The codes of ACP's errors, as opposed to those of MCP.
const (
	codeCancelled   = -32800
	codeLimit       = -33000
	codeUnavailable = -33001
	codeFailed      = -33002
)

// A Channel lets the agent of an ACP connection use Servers over that connection, without HTTP and without a relay. It
// serves the method mcp/message, an unstable part of ACP: later versions may change with it. It serves MCP 2026-07-28
// only.
//
// The agent can have 256 pending requests for each Entry. A request is as long as ListenOptions.MaxBody at most, and
// without the arguments of a tool 64 KiB.
//
// It is safe for concurrent use by multiple goroutines.
type Channel struct {
	listener *Listener
	watched  sync.Once

	mu      sync.Mutex
	closed  bool
	entries map[string]*acpEntry // by the server's ID
}

// NewChannel returns a Channel for one ACP connection. Agents that do not support MCP over ACP use l instead. If l is
// closed, so are the entries of the Channel.
func NewChannel(l *Listener) *Channel {
	return &Channel{listener: l, entries: make(map[string]*acpEntry)}
}

// Entry returns an entry of type "acp" if the agent supports that, and otherwise what Server.Entry returns. The entry's
// MCP session is opened by the first request, and is ended by Entry.Close or the end of the connection. initialize and
// name are as in Server.Entry.
func (c *Channel) Entry(s *Server, name string, initialize json.RawMessage) (*Entry, error) {
	agent, err := readAgent(initialize)
	if err != nil {
		return nil, fmt.Errorf("mcpserver: Entry: %w", err)
	}
	if !agent.acp {
		return s.Entry(c.listener, name, initialize)
	}
	e := s.newEntry(c.listener, name)
	e.Type, e.ServerID, e.channel = "acp", rand.Text(), c
	if err := c.listener.add(rand.Text(), e); err != nil { // a token that nothing gets
		return nil, fmt.Errorf("mcpserver: Entry: %w", err)
	}
	c.mu.Lock()
	closed := c.closed
	c.entries[e.ServerID] = &acpEntry{entry: e}
	c.mu.Unlock()
	if closed {
		e.Close()
		return nil, fmt.Errorf("mcpserver: Entry: %w", net.ErrClosed)
	}
	return e, nil
}

// remove makes an entry's ID unknown.
func (c *Channel) remove(e *Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.entries, e.ServerID)
}

// close closes all entries.
func (c *Channel) close() {
	c.mu.Lock()
	c.closed = true
	var all []func() error
	for a := range maps.Values(c.entries) {
		all = append(all, a.entry.Close)
	}
	c.mu.Unlock()
	closeAll(all)
}

// Handler returns a handler that serves mcp/message, with the requests to cancel it, and passes other messages on to
// next. It must be used for the Channel's connection only. The end of the connection closes the entries of the Channel,
// unless the agent has sent no request and no notification: it then has no MCP session.
func (c *Channel) Handler(next jsonrpc2.Handler) jsonrpc2.Handler { return channelHandler{c, next} }

type channelHandler struct {
	channel *Channel
	next    jsonrpc2.Handler
}

// Handle implements jsonrpc2.Handler. It blocks only to refuse a request, until the agent reads.
func (h channelHandler) Handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	h.channel.watched.Do(func() {
		go func() {
			<-conn.DisconnectNotify()
			h.channel.close()
		}()
	})
	switch {
	case req.Method == methodMessage && req.Notif: // only servers send these
	case req.Method == methodMessage:
		if outcome, err := h.channel.serve(conn, req); err != nil {
			conn.ReplyWithError(ctx, req.ID, err)
		} else if outcome != nil {
			conn.Reply(ctx, req.ID, outcome)
		}
	case req.Method == acpterm.MethodCancelRequest && req.Notif && h.channel.cancel(paramsOf(req)):
	default:
		h.next.Handle(ctx, conn, req)
	}
}

func paramsOf(req *jsonrpc2.Request) json.RawMessage {
	if req.Params == nil {
		return nil
	}
	return *req.Params
}

// acpOutcome is the result of a request: exactly one result or error of MCP.
type acpOutcome struct {
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
}

// acpMessage holds the params of mcp/message.
type acpMessage struct {
	ServerID  string          `json:"serverId"`
	RequestID string          `json:"requestId"`
	Method    string          `json:"method"`
	Params    json.RawMessage `json:"params,omitempty"`
}

// readMessage reads the params of a request. All but the params of MCP are required.
func readMessage(params json.RawMessage) (m acpMessage, err *jsonrpc2.Error) {
	var members map[string]json.RawMessage
	if json.Unmarshal(params, &members) != nil {
		return m, acpError(jsonrpc2.CodeInvalidParams, "the params are not an object")
	}
	for name, to := range map[string]*string{"serverId": &m.ServerID, "requestId": &m.RequestID, "method": &m.Method} {
		var value *string
		if json.Unmarshal(members[name], &value) != nil || value == nil {
			return m, acpError(jsonrpc2.CodeInvalidParams, name+" is not a string")
		}
		*to = *value
	}
	switch inner := members["params"]; {
	case isObject(inner):
		m.Params = inner
	case len(inner) > 0 && string(inner) != "null":
		return m, acpError(jsonrpc2.CodeInvalidParams, "params is not an object")
	}
	return m, nil
}

func acpError(code int64, text string) *jsonrpc2.Error {
	return &jsonrpc2.Error{Code: code, Message: text}
}

// serve begins to serve a request. It returns the outcome of one that cannot be passed to a session.
func (c *Channel) serve(conn *jsonrpc2.Conn, req *jsonrpc2.Request) (*acpOutcome, *jsonrpc2.Error) {
	params := paramsOf(req)
	if int64(len(params)) > c.listener.options.MaxBody {
		return nil, acpError(codeLimit, "the request is too long")
	}
	if err := checkAround(params); err != nil {
		return nil, acpError(codeLimit, err.Error())
	}
	m, err := readMessage(params)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	a := c.entries[m.ServerID]
	c.mu.Unlock()
	if a == nil {
		return nil, acpError(codeUnavailable, "there is no such server")
	}
	if refused := checkVersion(m.Params); refused != nil {
		encoded, _ := json.Marshal(refused)
		return &acpOutcome{Error: encoded}, nil
	}
	return nil, a.connection(conn).add(req.ID, m)
}

// checkVersion refuses the versions of MCP that begin with a handshake. The SDK refuses unknown later ones.
func checkVersion(params json.RawMessage) *jsonrpc.Error {
	var version string
	if json.Unmarshal(member(params, "_meta", mcp.MetaKeyProtocolVersion), &version) != nil {
		return &jsonrpc.Error{
			Code: jsonrpc.CodeInvalidParams, Message: "params._meta has no " + mcp.MetaKeyProtocolVersion,
		}
	}
	if version >= versionOverACP {
		return nil
	}
	data, _ := json.Marshal(mcp.UnsupportedProtocolVersionData{
		Supported: []string{versionOverACP}, Requested: shorten(version, maxLabel),
	})
	return &jsonrpc.Error{
		Code: mcp.CodeUnsupportedProtocolVersion, Message: "unsupported protocol version", Data: data,
	}
}

// cancel cancels the request that a $/cancel_request names. It reports whether there is such a request.
func (c *Channel) cancel(params json.RawMessage) bool {
	var id jsonrpc2.ID
	if json.Unmarshal(member(params, "requestId"), &id) != nil {
		return false
	}
	c.mu.Lock()
	all := slices.Collect(maps.Values(c.entries))
	c.mu.Unlock()
	return slices.ContainsFunc(all, func(a *acpEntry) bool { return a.cancel(id) })
}
