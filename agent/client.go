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

// A Client calls the terminal/* methods of the ACP client at the other end of a connection. All methods may be called
// concurrently. Requests are sent in the order in which the methods are called.
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

// ClientOptions holds the options of a Client. The zero value is ready to use.
type ClientOptions struct {
	// SupportedMethods lists the methods, other than terminal/*, that the client supports, such as "fs/read_text_file".
	// It is used by Supports and FilterMethods, and is reported in an acpterm.CapabilityError. If nil, every method is
	// assumed to be supported. If empty but not nil, none is.
	SupportedMethods []string

	// Grace is the maximum time Use and Run wait for each of the client's final responses, to kill, output and release,
	// once the command has ended or timed out. For a kill, this includes the response to the pending wait. If Grace is
	// zero or negative, it defaults to 10 seconds.
	Grace time.Duration
}

// NewClient returns a Client for conn. The capabilities should be those sent by the client with initialize (see
// ReadClientCapabilities). If options is nil, the defaults are used. There is no need to close a Client.
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

// Create starts a command with terminal/create. The caller must release the terminal when done with it.
//
// If ctx is done before the client responds, the request is cancelled. Should the client create the terminal anyway, it
// is released as soon as its ID is known.
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

// Use creates a terminal, passes it to use, and then releases it, even if use fails or panics or ctx is done. If the
// terminal cannot be created, Use returns that error. Otherwise, it returns the errors of use and of the release,
// joined. The release is given up to ClientOptions.Grace to complete, regardless of ctx.
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
