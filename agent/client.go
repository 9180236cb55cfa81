package agent

// Client: its options, and the creation of terminals.

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

// defaultGrace is longer than acpterm's own grace between a command's first signal and SIGKILL.
const defaultGrace = 10 * time.Second

// Client calls the terminal/* methods of the ACP client on the other side of a connection. All methods may be called
// concurrently, and requests are sent in the order of the calls.
type Client struct {
	conn         *jsonrpc2.Conn
	capabilities acpterm.ClientCapabilities
	grace        time.Duration

	otherMethods      []string // the client's methods other than terminal/*
	otherMethodsKnown bool

	idPrefix string // random, because others may also send requests over the connection
	ids      atomic.Uint64
	out      outbox
}

// ClientOptions configure a Client. The zero value is ready to use.
type ClientOptions struct {
	// SupportedMethods lists the client's methods other than terminal/*, such as "fs/read_text_file". It is used by
	// Supports and FilterMethods, and included in an acpterm.CapabilityError. If nil, the methods are not known, and
	// all of them are assumed to be supported. If empty but not nil, none is supported.
	SupportedMethods []string

	// Grace is how long Use and Run wait for each of the client's answers once the command has ended or timed out: to
	// kill, output and release. For a kill, this includes the response to the wait. The default, used if Grace is not
	// positive, is 10 seconds.
	Grace time.Duration
}

// NewClient returns a Client for a connection. capabilities should be those advertised in initialize, as returned by
// ReadClientCapabilities. If options is nil, the defaults are used. A Client does not need to be closed.
func NewClient(conn *jsonrpc2.Conn, capabilities acpterm.ClientCapabilities, options *ClientOptions) *Client {
	c := &Client{
		conn: conn, capabilities: capabilities, grace: defaultGrace,
		idPrefix: "terminal-" + rand.Text()[:8] + "-",
	}
	if options == nil {
		return c
	}
	if options.Grace > 0 {
		c.grace = options.Grace
	}
	c.otherMethodsKnown = options.SupportedMethods != nil
	for _, m := range options.SupportedMethods {
		if !isTerminalMethod(m) {
			c.otherMethods = append(c.otherMethods, m)
		}
	}
	return c
}

// Create starts a command with terminal/create. The caller must release the terminal when done.
//
// If ctx is done before the client has answered, Create cancels the request. If the client creates the terminal anyway,
// it is released as soon as its id is known.
func (c *Client) Create(ctx context.Context, request acpterm.CreateTerminalRequest) (*Terminal, error) {
	created := c.send(ctx, call{
		method: acpterm.MethodCreate, params: request,
		onLateResult: func(result json.RawMessage) {
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

// Use creates a terminal, calls use with it, and releases it even if use fails or panics or ctx is done. It returns the
// error if the terminal could not be created, and otherwise the joined errors of use and the release. The answer to the
// release is awaited for up to ClientOptions.Grace, regardless of ctx.
func (c *Client) Use(
	ctx context.Context, request acpterm.CreateTerminalRequest, use func(*Terminal) error,
) (err error) {
	t, err := c.Create(ctx, request)
	if err != nil {
		return err
	}
	defer func() { err = joinErrors(err, c.withGrace(context.WithoutCancel(ctx), t.Release)) }()
	return use(t)
}

// withGrace calls request with the grace as its timeout.
func (c *Client) withGrace(ctx context.Context, request func(context.Context) error) error {
	cause := fmt.Errorf("no answer within %s: %w", c.grace, context.DeadlineExceeded)
	ctx, cancel := context.WithTimeoutCause(ctx, c.grace, cause)
	defer cancel()
	return request(ctx)
}

// joinErrors is like errors.Join, but reports a closed connection only once.
func joinErrors(err, next error) error {
	switch {
	case err == nil:
		return next
	case next == nil, errors.Is(err, jsonrpc2.ErrClosed) && errors.Is(next, jsonrpc2.ErrClosed):
		return err
	}
	return errors.Join(err, next)
}
