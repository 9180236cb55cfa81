package agent

// One request, its answer and its cancellation. jsonrpc2 does not send cancellations.

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/wire"
)

// call is a method and its params.
type call struct {
	method   string
	terminal acpterm.TerminalID // empty for a create
	params   any

	// onLateResult receives a result that arrives after the call's cancellation. If nil, the result is dropped.
	onLateResult func(result json.RawMessage)
}

// request is a refused, queued or sent call.
type request struct {
	call
	client  *Client
	refused error // nil if the call is queued or sent
	id      jsonrpc2.ID
	params  json.RawMessage
	written chan struct{}   // closed after the write
	waiter  jsonrpc2.Waiter // valid once written is closed
	err     error           // error of the write; valid once written is closed
}

// send queues a request, unless ctx is done or the client did not advertise the method. It does not block. Requests
// are sent in the order of the calls.
func (c *Client) send(ctx context.Context, k call) *request {
	refuse := func(err error) *request { return &request{refused: err} }
	if err := c.require(k.method); err != nil {
		return refuse(err)
	}
	if ctx.Err() != nil {
		return refuse(k.cancelled(ctx))
	}
	params, err := json.Marshal(k.params)
	if err != nil {
		return refuse(&Error{Method: k.method, TerminalID: k.terminal, Kind: acpterm.ErrInvalidParams, Err: err})
	}
	r := &request{
		call: k, client: c, params: params, written: make(chan struct{}),
		id: jsonrpc2.ID{Str: c.idPrefix + strconv.FormatUint(c.ids.Add(1), 10), IsString: true},
	}
	c.out.add(r)
	return r
}

// write writes the request. If it fails, the client has no complete request to answer.
func (r *request) write() {
	defer close(r.written)
	r.waiter, r.err = r.client.conn.DispatchCall(context.Background(), r.method, r.params, jsonrpc2.PickID(r.id))
	if r.err != nil && r.err != jsonrpc2.ErrClosed {
		// The params are valid JSON, so the connection failed.
		r.err = fmt.Errorf("%w: %w", jsonrpc2.ErrClosed, r.err)
	}
}

// answer returns the raw result. If ctx is done first, it cancels the request.
func (r *request) answer(ctx context.Context) (json.RawMessage, error) {
	if r.refused != nil {
		return nil, r.refused
	}
	select {
	case <-r.written:
	case <-r.client.conn.DisconnectNotify():
		return nil, r.failed(jsonrpc2.ErrClosed)
	case <-ctx.Done():
		return nil, r.cancel(ctx)
	}
	if r.err != nil {
		return nil, r.failed(r.err)
	}
	var result json.RawMessage
	err := r.waiter.Wait(ctx, &result)
	switch {
	case err == nil:
		return result, nil
	case err == ctx.Err():
		return nil, r.cancel(ctx)
	}
	return nil, r.failed(err)
}

// cancel cancels the request, or withdraws it if it has not been sent yet, and returns the call's error. It does not
// block.
func (r *request) cancel(ctx context.Context) error {
	if !r.client.out.withdraw(r) {
		r.client.out.add(&cancellation{r})
		if r.onLateResult != nil {
			go r.awaitLateResult()
		}
	}
	return r.cancelled(ctx)
}

// awaitLateResult passes on a late result. It returns when the connection closes at the latest.
func (r *request) awaitLateResult() {
	<-r.written
	if r.err != nil {
		return
	}
	var result json.RawMessage
	if r.waiter.Wait(context.Background(), &result) == nil {
		r.onLateResult(result)
	}
}

// cancellation is a $/cancel_request.
type cancellation struct{ request *request }

// write writes the cancellation. It fails only if the connection is closed.
func (c *cancellation) write() {
	c.request.client.conn.Notify(context.Background(), wire.MethodCancelRequest,
		CancelRequestNotification{RequestID: json.RawMessage(strconv.Quote(c.request.id.Str))})
}

// CancelRequestNotification represents a notification that cancels one of the sender's own pending requests (schema
// type CancelRequestNotification). RequestID is the JSON value exactly as received, which may be a string, a number or
// null.
type CancelRequestNotification struct {
	RequestID json.RawMessage `json:"requestId"`
	Meta      acpterm.Meta    `json:"_meta,omitempty"`
}
