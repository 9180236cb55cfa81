package acpterm

// The requests of one connection, from arrival to answer. Each gets one answer; terminal/output in the order of
// arrival. An agent that does not read delays only its own answers.

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm/internal/notify"
	"github.com/acpterm/acpterm/internal/requests"
	"github.com/acpterm/acpterm/internal/wire"
)

type call struct {
	requests.Request
	method string
	to     replier
	bytes  int // that a create reserves until its answer
}

// replier writes the answer of one call. It drops write errors, because the reader of the connection sees its end.
type replier interface {
	reply(result any, err error)
	// replyOutput answers a terminal/output.
	replyOutput(t *Terminal)
}

// viaJSONRPC2 answers a request of Handle.
type viaJSONRPC2 struct {
	conn *jsonrpc2.Conn
	id   jsonrpc2.ID
}

func (r viaJSONRPC2) reply(result any, err error) {
	if err != nil {
		r.conn.ReplyWithError(context.Background(), r.id, ResponseError(err))
		return
	}
	r.conn.Reply(context.Background(), r.id, result)
}

func (r viaJSONRPC2) replyOutput(t *Terminal) { r.reply(t.outputThatFits(), nil) }

// viaLines answers a request of Filter. After a partial write, later writes fail.
type viaLines struct {
	lines   *wire.Lines
	outputs *wire.Cache
	id      []byte // as it came
}

func (r viaLines) reply(result any, err error) {
	var encoded []byte
	if err == nil {
		encoded, err = json.Marshal(result)
	}
	if err != nil {
		r.lines.Write(wire.AppendError(nil, r.id, ResponseError(err)))
		return
	}
	r.lines.Write(wire.AppendResult(nil, r.id, encoded))
}

func (r viaLines) replyOutput(t *Terminal) {
	err := r.lines.WritePieces(func(write func([]byte) error) error {
		return r.outputs.Reply(terminalOutput{t}, r.id, write)
	})
	if err == wire.ErrTooLong {
		r.reply(t.outputThatFits(), nil)
	}
}

// errCancelRequest is why a request was cancelled by $/cancel_request.
var errCancelRequest = errors.New("the agent cancelled the request")

// serveMessage is Handle for a message of Filter. It reports whether it took the message.
func (h *Handler) serveMessage(ctx context.Context, m wire.Message, lines *wire.Lines) (taken bool) {
	switch {
	case m.Method == MethodCancelRequest && m.ID == nil:
		return h.cancelPending(m.Params)
	case !slices.Contains(methods, m.Method):
		return false
	case m.ID != nil:
		id, _ := wire.RequestID(m.ID)
		to := viaLines{lines, &h.outputs, wire.ValidID(m.ID)} // m is valid until this returns
		h.serve(ctx, &call{Request: requests.Request{ID: id}, method: m.Method, to: to}, m.Params)
	}
	return true
}

// serve begins to answer a request. When it returns, the request is pending and has its terminal, so that a cancel or a
// release that follows on the wire comes after it.
//
// It blocks only to refuse a request, beyond MaxPending or after Close: goroutines for refusals would be unbounded.
func (h *Handler) serve(ctx context.Context, c *call, params []byte) {
	if err := h.admit(c); err != nil {
		h.reply(c, nil, err)
		return
	}
	switch w := h.prepare(c.method, params).(type) {
	case refusal:
		go h.answer(c, func() (any, error) { return nil, w.err })
	case start:
		ctx, cancel := context.WithCancel(ctx)
		h.requests.OnCancel(&c.Request, cancel)
		c.bytes = w.bytes
		go func() {
			defer cancel()
			created, err := h.create(ctx, w.request)
			h.answerCreate(c, created, err)
		}()
	case poll:
		h.polls.Add(func() { h.answerPoll(c, w.terminal) }, notify.Size{})
	case await: // no goroutine, so that many cost little
		stop := w.done.OnSet(func() { go h.answer(c, w.result) })
		h.requests.OnCancel(&c.Request, func() {
			if stop() {
				go h.answer(c, w.result)
			}
		})
	}
}

// admit makes a call pending, unless too many calls are.
func (h *Handler) admit(c *call) error {
	switch err := h.requests.Admit(&c.Request); err {
	case nil:
		return nil
	case requests.ErrClosed: // the connection may go on
		return &Error{Op: c.method, Kind: ErrClosing}
	default:
		limit := int64(h.options.maxPending())
		return &Error{Op: c.method, Kind: ErrQuota, Quota: "pending_requests", Limit: limit}
	}
}

// answer replies with a result, or with an error if the call was cancelled. The call is complete before the answer is
// written, so that an agent that has read the answer can send another request.
func (h *Handler) answer(c *call, result func() (any, error)) {
	defer h.requests.Done()
	if err := h.complete(c); err != nil {
		h.reply(c, nil, err)
		return
	}
	answer, err := result()
	h.reply(c, answer, err)
}

// answerCreate is answer for a create. It first releases the terminal of a cancelled create.
func (h *Handler) answerCreate(c *call, t *Terminal, err error) {
	defer h.requests.Done()
	if cancelled := h.complete(c); cancelled != nil {
		err = cancelled
		if t != nil {
			h.outputs.Forget(terminalOutput{t}) // it stays tracked, so that Close waits for it
			h.manager.discard(t)
		}
	}
	h.releaseCreateBytes(c.bytes) // first: an agent that has read the answer may send as much again
	if err != nil {
		h.reply(c, nil, err)
		return
	}
	h.reply(c, CreateTerminalResponse{TerminalID: t.id}, nil)
}

// complete makes a call uncancellable. It fails if the call has been cancelled.
func (h *Handler) complete(c *call) error {
	if cancelled := h.requests.Complete(&c.Request); cancelled != nil {
		return &Error{Op: c.method, Kind: ErrCancelled, Err: cancelled}
	}
	return nil
}

// reply writes an answer.
func (h *Handler) reply(c *call, result any, err error) { c.to.reply(result, h.toWireError(err)) }

// cancelPending cancels the pending request that a $/cancel_request names. It reports whether it has found the request.
func (h *Handler) cancelPending(params []byte) bool {
	id, ok := wire.RequestID(wire.ReadObject(params).Get("requestId"))
	return ok && h.requests.Cancel(id, errCancelRequest)
}

// answerPoll answers a terminal/output. It reads the output only now, so that queued polls hold no copies.
func (h *Handler) answerPoll(c *call, t *Terminal) {
	defer h.requests.Done()
	if err := h.complete(c); err != nil {
		h.reply(c, nil, err)
		return
	}
	c.to.replyOutput(t)
	if _, err := h.manager.Terminal(t.session, t.id); err != nil {
		h.outputs.Forget(terminalOutput{t}) // it was released while the poll was answered
	}
}
