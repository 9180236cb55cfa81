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
// concurrently. Requests are sent in the order of the calls.
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
	// SupportedMethods lists the client's methods other than terminal/*, such as "fs/read_text_file". Supports and
	// FilterMethods use them, and an acpterm.CapabilityError lists them. If nil, the methods are unknown and all of
	// them count as served. If empty but not nil, the client serves none.
	SupportedMethods []string

	// Grace is how long Use and Run wait for the client's answer to each request after the end of a command or its
	// timeout: kill, output and release. For a kill, it includes the answer to the wait. If 0 or less, it is 10
	// seconds.
	Grace time.Duration
}

// NewClient returns a client for a connection. capabilities are those that the connection's initialize advertised;
// ReadClientCapabilities reads them. If options is nil, the defaults apply. A Client has nothing to close.
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

// Create starts a command with terminal/create. The caller must release the terminal.
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

// Use creates a terminal, calls use with it and releases it, even if use fails or panics or ctx is done. It returns
// the error of the creation, or the joined errors of use and of the release. It waits for the answer to the release for
// ClientOptions.Grace, regardless of ctx.
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
