package mcpserver

// The messages on a relay's connection, with a bound of those unanswered. The SDK's transports accept any number of
// requests.

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxUnanswered is the maximum number of requests on a relay's connection whose response has not been written. Since
// maxCalls is lower, the client must have stopped reading.
const maxUnanswered = 1024

var errUnanswered = errors.New("too many requests are unanswered")

// A relayConnection is a relay's connection as the transport and the connection of one MCP session.
type relayConnection struct {
	conn   net.Conn
	lines  *lines
	ctx    context.Context // done when the connection is closed
	cancel context.CancelFunc

	mu         sync.Mutex
	unanswered map[jsonrpc.ID]bool
	answered   chan struct{} // has an element after unanswered became empty
}

func newRelayConnection(conn net.Conn, maxLine int, logger *slog.Logger) *relayConnection {
	c := &relayConnection{
		conn: conn, lines: newLines(conn, maxLine, logger),
		unanswered: make(map[jsonrpc.ID]bool), answered: make(chan struct{}, 1),
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// Connect implements mcp.Transport.
func (c *relayConnection) Connect(context.Context) (mcp.Connection, error) { return c, nil }

// SessionID implements mcp.Connection. A relay has no session ID.
func (c *relayConnection) SessionID() string { return "" }

// Close implements mcp.Connection.
func (c *relayConnection) Close() error {
	c.cancel()
	return c.conn.Close()
}

// Read implements mcp.Connection. When it fails, the SDK cancels all calls and waits for writes already begun. So
// at the end of the input, Read waits for the last responses first.
func (c *relayConnection) Read(context.Context) (jsonrpc.Message, error) {
	msg, err := c.next()
	if err != nil {
		c.conn.SetWriteDeadline(time.Now().Add(lastTimeout))
	}
	if err == io.EOF {
		c.awaitAnswers()
	}
	return msg, err
}

// next returns the next message. Messages that would take too much memory are refused.
func (c *relayConnection) next() (jsonrpc.Message, error) {
	for {
		line, msg, err := c.lines.next()
		if err != nil {
			return nil, err
		}
		if err := checkAround(line); err != nil {
			if err := c.lines.refuse(line, err); err != nil {
				return nil, err
			}
			continue
		}
		if req, ok := msg.(*jsonrpc.Request); ok && req.IsCall() && !c.expect(req.ID) {
			return nil, errUnanswered
		}
		return msg, nil
	}
}

// expect counts a request until its response has been written. It reports false if there are too many. An ID in use
// counts once, because the SDK does not answer the second request.
func (c *relayConnection) expect(id jsonrpc.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unanswered[id] = true
	return len(c.unanswered) <= maxUnanswered
}

// awaitAnswers waits until all requests are answered, but not long.
func (c *relayConnection) awaitAnswers() {
	timeout := time.NewTimer(answerTimeout)
	defer timeout.Stop()
	for c.pending() {
		select {
		case <-c.answered:
		case <-c.ctx.Done():
			return
		case <-timeout.C:
			return
		}
	}
}

func (c *relayConnection) pending() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.unanswered) > 0
}

// Write implements mcp.Connection.
func (c *relayConnection) Write(_ context.Context, msg jsonrpc.Message) error {
	line, err := jsonrpc.EncodeMessage(msg)
	if err == nil {
		_, err = c.lines.Write(append(line, '\n'))
	}
	if response, ok := msg.(*jsonrpc.Response); ok {
		c.answer(response.ID)
	}
	if err != nil {
		c.Close() // a part may have been written
	}
	return err
}

// answer ends what expect began.
func (c *relayConnection) answer(id jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.unanswered, id)
	if len(c.unanswered) == 0 {
		select {
		case c.answered <- struct{}{}:
		default:
		}
	}
}
