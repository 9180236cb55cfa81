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

// A Client calls the terminal/* methods of an ACP client over a connection. It is safe for concurrent use by multiple
// goroutines. Requests are sent in the order that the methods are called.
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

// ClientOptions specifies optional settings for a Client. The zero value is ready to use.
type ClientOptions struct {
	// SupportedMethods lists the methods other than terminal/* that the client supports, such as "fs/read_text_file".
	// The list is used by Supports and FilterMethods, and is included in any acpterm.CapabilityError. If nil, all
	// methods other than terminal/* are assumed to be supported. If non-nil but empty, only terminal/* methods can be
	// supported.
	SupportedMethods []string

	// Grace is how long Use and Run wait for the client to respond to each of the final requests (to kill the command,
	// read its output, and release the terminal) after the command has exited or timed out. If the command has to be
	// killed, the same limit also covers the response to the request that waits for its exit. If Grace is zero or
	// negative, the default of 10 seconds is used.
	Grace time.Duration
}

// NewClient returns a new Client for conn. The capabilities should be the ones that the client sent in initialize, as
// returned by ReadClientCapabilities. If options is nil, the defaults are used. A Client does not need to be closed.
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

// Create runs a command using terminal/create. The caller must release the returned terminal.
//
// If ctx is done before the client has responded, Create cancels the request. If the client creates the terminal
// anyway, the terminal will be released as soon as its ID is known.
func (c *Client) Create(ctx context.Context, request acpterm.CreateTerminalRequest) (*Terminal, error) {
	created := c.send(ctx, call{
		method: acpterm.MethodCreate, params: request,
		onLateResult: func(result json.RawMessage) {
			if id, err := readCreated(result); err == nil {
				c.Terminal(request.SessionID, id).Release(context.Background())
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
	return c.Terminal(request.SessionID, id), nil
}

// Terminal returns a terminal that the agent has created before, such as on an earlier connection, whose session it has
// now loaded or resumed. If the client has not kept the terminal, its methods return acpterm.ErrTerminalNotFound.
// Terminal sends nothing.
func (c *Client) Terminal(session acpterm.SessionID, id acpterm.TerminalID) *Terminal {
	return &Terminal{client: c, session: session, id: id}
}

// Use creates a terminal, calls use with it, and then releases the terminal, even if use fails or panics, or if ctx is
// done. If the terminal cannot be created, Use returns the error from Create. Otherwise, it returns the error from use
// joined with any error from releasing the terminal. Even if ctx is done, Use waits for up to ClientOptions.Grace for
// the terminal to be released.
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
