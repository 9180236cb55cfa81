package agent

// A Client and how terminals come about: Create gives a handle, Use also takes it back.

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/sourcegraph/jsonrpc2"
)

// defaultGrace leaves room for a client that asks a command to end before it forces it.
const defaultGrace = 10 * time.Second

// Client calls the terminal/* methods of the ACP client at the other end of a connection. All methods may be called
// concurrently; requests are sent in the order of the calls.
type Client struct {
	conn         *jsonrpc2.Conn
	capabilities acpterm.ClientCapabilities
	others       []string // methods besides terminal/* that the client serves
	othersKnown  bool
	grace        time.Duration

	idPrefix string // keeps this Client's request ids apart from everybody else's on the connection
	ids      atomic.Uint64
	out      outbox
}

// ClientOption changes a Client that NewClient makes.
type ClientOption func(*Client)

// WithSupportedMethods names the methods besides terminal/* that the client serves, such as "fs/read_text_file".
// Supports and FilterMethods then know them, and so does an acpterm.CapabilityError. Without this option, a Client
// knows of no methods besides terminal/*.
func WithSupportedMethods(methods ...string) ClientOption {
	return func(c *Client) {
		c.othersKnown = true
		for _, m := range methods {
			if !isTerminalMethod(m) {
				c.others = append(c.others, m)
			}
		}
	}
}

// WithGrace sets how long Use and Run wait for the client's answer to each request that follows the end of a command or
// of its time: kill, output and release. The kill's time is also that of the wait which the kill ends. 0: 10 seconds.
func WithGrace(grace time.Duration) ClientOption {
	return func(c *Client) {
		if grace > 0 {
			c.grace = grace
		}
	}
}

// NewClient returns a client for a connection, with what was advertised on it in initialize:
// acpterm.ReadClientCapabilities reads that. It holds nothing that has to be closed.
func NewClient(conn *jsonrpc2.Conn, capabilities acpterm.ClientCapabilities, options ...ClientOption) *Client {
	c := &Client{
		conn: conn, capabilities: capabilities, grace: defaultGrace,
		idPrefix: "terminal-" + rand.Text()[:8] + "-",
	}
	for _, option := range options {
		option(c)
	}
	return c
}

// Create has the client start a command, with terminal/create. The caller has to release the terminal.
//
// If ctx ends before the client has answered, the request is cancelled; should the client create the terminal all the
// same, it is released as soon as its id is known.
func (c *Client) Create(ctx context.Context, request acpterm.CreateTerminalRequest) (*Terminal, error) {
	created := c.send(ctx, call{
		method: acpterm.MethodCreate, params: request,
		late: func(result json.RawMessage) {
			if id, err := readCreated(result); err == nil {
				(&Terminal{client: c, session: request.SessionID, id: id}).Release(context.Background())
			}
		},
	})
	result, err := created.answer(ctx)
	if err != nil {
		return nil, err
	}
	id, err := readCreated(result)
	if err != nil {
		return nil, &Error{Method: acpterm.MethodCreate, Kind: ErrBadResponse, Err: err}
	}
	return &Terminal{client: c, session: request.SessionID, id: id}, nil
}

// Use creates a terminal, calls a function with it and releases it: also if the function fails or panics, and if ctx
// has ended. Its error is that of the creation, or the function's and the release's, joined. It waits for the answer to
// the release as long as WithGrace says, whatever ctx says.
func (c *Client) Use(
	ctx context.Context, request acpterm.CreateTerminalRequest, use func(*Terminal) error,
) (err error) {
	t, err := c.Create(ctx, request)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := c.withGrace(context.WithoutCancel(ctx))
		defer cancel()
		err = joinErrors(err, t.Release(ctx))
	}()
	return use(t)
}

// withGrace bounds a request that must not take long.
func (c *Client) withGrace(ctx context.Context) (context.Context, context.CancelFunc) {
	cause := fmt.Errorf("no answer within %s: %w", c.grace, context.DeadlineExceeded)
	return context.WithTimeoutCause(ctx, c.grace, cause)
}

// joinErrors is errors.Join, but says once that the connection is gone.
func joinErrors(err, next error) error {
	switch {
	case err == nil:
		return next
	case next == nil, errors.Is(err, jsonrpc2.ErrClosed) && errors.Is(next, jsonrpc2.ErrClosed):
		return err
	}
	return errors.Join(err, next)
}
