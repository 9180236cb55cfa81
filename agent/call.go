package agent

// One request and its answer. jsonrpc2 blocks while the other end does not read, whatever the context says, and sends no
// cancel; so each request has a goroutine of its own, and whoever makes the call waits for that or for the context.

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/acpterm/acpterm"
	"github.com/sourcegraph/jsonrpc2"
)

// call is a request.
type call struct {
	method   string
	terminal acpterm.TerminalID // empty for a create
	params   any

	// late gets the result that comes after the call was given up. Nil: then nobody cares, and the answer is not
	// waited for.
	late func(result json.RawMessage)
}

// answer is what became of a request.
type answer struct {
	result json.RawMessage
	err    error // as jsonrpc2 has it
}

// do makes a call and returns the result as it came.
func (c *Client) do(ctx context.Context, k call) (json.RawMessage, error) {
	if err := c.require(k.method); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, k.gaveUp(ctx)
	}
	// Here and not in the goroutine, so that the caller can change the request afterwards.
	params, err := json.Marshal(k.params)
	if err != nil {
		return nil, &Error{Method: k.method, TerminalID: k.terminal, Kind: acpterm.ErrInvalidParams, Err: err}
	}
	answers := make(chan answer) // without a buffer: an answer that is taken is not late
	go c.exchange(ctx, k, params, answers)
	select {
	case a := <-answers:
		if a.err != nil {
			return nil, k.failed(a.err)
		}
		return a.result, nil
	case <-ctx.Done():
		return nil, k.gaveUp(ctx)
	}
}

// exchange sends a request and hands over its answer, or, when nobody takes that any more, cancels the request. It
// outlives the call for as long as the request cannot be written and, if there is a use for a late result, until that has
// come; but not the connection.
func (c *Client) exchange(ctx context.Context, k call, params json.RawMessage, answers chan<- answer) {
	id := jsonrpc2.ID{Str: c.idPrefix + strconv.FormatUint(c.ids.Add(1), 10), IsString: true}
	w, err := c.dispatch(ctx, k.method, params, id)
	if err != nil {
		select {
		case answers <- answer{err: err}:
		case <-ctx.Done():
		}
		return
	}
	var a answer
	a.err = w.Wait(ctx, &a.result)
	if a.err == nil || a.err != ctx.Err() {
		select {
		case answers <- a:
			return
		case <-ctx.Done():
		}
	} else {
		c.cancel(id)
		if k.late != nil {
			a.err = w.Wait(context.Background(), &a.result)
		}
	}
	if k.late != nil && a.err == nil {
		k.late(a.result)
	}
}

// dispatch writes a request. When it fails, none was written that the client could answer.
func (c *Client) dispatch(ctx context.Context, method string, params json.RawMessage, id jsonrpc2.ID) (jsonrpc2.Waiter, error) {
	// One at a time: what waits here can still be given up, and is then never sent.
	select {
	case c.sending <- struct{}{}:
	case <-ctx.Done():
		return jsonrpc2.Waiter{}, ctx.Err()
	case <-c.conn.DisconnectNotify():
		return jsonrpc2.Waiter{}, jsonrpc2.ErrClosed
	}
	defer func() { <-c.sending }()
	w, err := c.conn.DispatchCall(ctx, method, params, jsonrpc2.PickID(id))
	if err != nil && err != jsonrpc2.ErrClosed {
		// The params are JSON already, so it is the connection that does not take them.
		err = fmt.Errorf("%w: %w", jsonrpc2.ErrClosed, err)
	}
	return w, err
}

// cancel tells the client that nobody wants an answer any more. Should that fail, the connection is gone.
func (c *Client) cancel(id jsonrpc2.ID) {
	select {
	case c.sending <- struct{}{}:
	case <-c.conn.DisconnectNotify():
		return
	}
	defer func() { <-c.sending }()
	c.conn.Notify(context.Background(), acpterm.MethodCancelRequest,
		acpterm.CancelRequestNotification{RequestID: json.RawMessage(strconv.Quote(id.Str))})
}
