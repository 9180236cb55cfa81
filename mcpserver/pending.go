package mcpserver

// Limits on what a client may have pending. The SDK has none.

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// limitCalls refuses requests of a session while max are pending.
func limitCalls(max int64) mcp.Middleware {
	var pending atomic.Int64
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			defer pending.Add(-1)
			if pending.Add(1) > max {
				return nil, errors.New("too many calls are pending: wait for one to end, or cancel it")
			}
			return next(ctx, method, req)
		}
	}
}

// maxUnanswered is the number of requests without a response at which a stream is closed. Beyond limitCalls, they are
// those whose response the client does not read.
const maxUnanswered = 1024

var errUnanswered = errors.New("too many requests are unanswered")

// limitedTransport closes the connections of another transport once too many requests are unanswered.
type limitedTransport struct{ mcp.Transport }

func (t limitedTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &limitedConnection{Connection: conn}, nil
}

type limitedConnection struct {
	mcp.Connection
	unanswered atomic.Int64
}

func (c *limitedConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := c.Connection.Read(ctx)
	if req, ok := msg.(*jsonrpc.Request); ok && req.IsCall() && c.unanswered.Add(1) > maxUnanswered {
		return nil, errUnanswered
	}
	return msg, err
}

func (c *limitedConnection) Write(ctx context.Context, msg jsonrpc.Message) error {
	err := c.Connection.Write(ctx, msg)
	if _, ok := msg.(*jsonrpc.Response); ok {
		c.unanswered.Add(-1)
	}
	return err
}
