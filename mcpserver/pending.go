package mcpserver

// The bound of a relay's requests. The SDK reads any number of them.

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxUnanswered is the maximum number of requests on a relay's connection whose response has not been written. Since
// maxCalls is lower, the client must have stopped reading.
const maxUnanswered = 1024

var errUnanswered = errors.New("too many requests are unanswered")

// A relayTransport is a relay's connection as the transport of one MCP session.
type relayTransport struct {
	conn    net.Conn
	maxLine int
}

func (t relayTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	messages := &mcp.IOTransport{Reader: t.conn, Writer: t.conn, MaxLineLength: t.maxLine}
	c, err := messages.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &relayConnection{Connection: c, conn: t.conn}, nil
}

type relayConnection struct {
	mcp.Connection
	conn       net.Conn
	unanswered atomic.Int64
}

// Read fails once too many requests are unanswered. After its failure, the last responses have to be read soon, because
// the SDK waits until they are written.
func (c *relayConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := c.Connection.Read(ctx)
	if req, ok := msg.(*jsonrpc.Request); ok && req.IsCall() && c.unanswered.Add(1) > maxUnanswered {
		err = errUnanswered
	}
	if err != nil {
		c.conn.SetWriteDeadline(time.Now().Add(lastTimeout))
		return nil, err
	}
	return msg, nil
}

func (c *relayConnection) Write(ctx context.Context, msg jsonrpc.Message) error {
	err := c.Connection.Write(ctx, msg)
	if _, ok := msg.(*jsonrpc.Response); ok {
		c.unanswered.Add(-1)
	}
	return err
}
