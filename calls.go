package acpterm

// The requests of one connection, from arrival to answer. Each is answered once, cancelled or not, and in the order of
// arrival where that matters. An agent that does not read delays nothing but its own answers.

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm/internal/wire"
)

// call is a request that has not been answered.
type call struct {
	method string
	id     jsonrpc2.ID    // as jsonrpc2 decodes it
	wireID []byte         // as it came
	conn   *jsonrpc2.Conn // nil: the request did not pass through jsonrpc2
	poll   *Terminal      // of a queued terminal/output
	bytes  int            // reserved by a create until its answer

	// Under Handler.mu.
	cancelled error  // the cause; nil: not cancelled
	cancel    func() // ends the wait of the request; nil: it does not wait
}

// spareAnswers is how many more answers than requests may be under way. An agent that has read an answer may send the
// next request before the goroutine that wrote the answer has counted it.
const spareAnswers = 64

// errCancelRequest is why a request was cancelled by $/cancel_request.
var errCancelRequest = errors.New("the agent cancelled the request")

// serveMessage is Handle for a message that has not passed through jsonrpc2. It reports whether it took the message.
func (h *Handler) serveMessage(ctx context.Context, m wire.Message) (taken bool) {
	switch {
	case m.Method == MethodCancelRequest && m.ID == nil:
		return h.cancelPending(m.Params)
	case !slices.Contains(methods, m.Method):
		return false
	case m.ID != nil:
		id, _ := wire.RequestID(m.ID)
		wireID := bytes.ToValidUTF8(m.ID, []byte(string(utf8.RuneError))) // a copy, since m is valid until this returns
		h.serve(ctx, &call{method: m.Method, id: id, wireID: wireID}, m.Params)
	}
	return true
}

// serve begins to answer a request. When it returns, the request is pending, so that the cancel which follows it on the
// wire finds it, and has its terminal, so that the release which follows it does not remove that.
//
// It blocks only to refuse a request beyond MaxPending, because goroutines for these would have no bound.
func (h *Handler) serve(ctx context.Context, c *call, params []byte) {
	if err := h.admit(c); err != nil {
		h.reply(c, nil, err)
		return
	}
	switch w := h.prepare(c.method, params).(type) {
	case refusal:
		go h.answer(c, func() (any, error) { return nil, w.err })
	case start:
		ctx, cancel := context.WithCancelCause(ctx)
		h.onCancel(c, func() { cancel(nil) })
		c.bytes = w.bytes
		go func() {
			defer cancel(nil)
			created, err := h.create(ctx, cancel, w.request)
			h.answerCreate(c, created, err)
		}()
	case poll:
		h.servePoll(c, w.terminal)
	case await: // no goroutine, so that many cost little
		stop := w.done.OnSet(func() { h.answerNow(c, w.result) })
		h.onCancel(c, func() {
			if stop() {
				go h.answer(c, w.result)
			}
		})
	}
}

// admit makes a call pending, unless too many are.
func (h *Handler) admit(c *call) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	limit := h.options.maxPending()
	switch {
	case h.closed: // the connection may go on
		return &Error{Op: c.method, Kind: ErrClosing}
	case h.unanswered >= limit, h.unwritten >= limit+spareAnswers:
		return &Error{Op: c.method, Kind: ErrQuota, Quota: QuotaPendingRequests, Limit: int64(limit)}
	}
	h.unanswered++
	h.pending[c.id] = c
	return nil
}

// onCancel sets the function that cancels a call, and calls it at once if the call is cancelled already.
func (h *Handler) onCancel(c *call, cancel func()) {
	h.mu.Lock()
	c.cancel = cancel
	cancelled := c.cancelled != nil
	h.mu.Unlock()
	if cancelled {
		cancel()
	}
}

// answer replies with a result, or with an error if the call was cancelled.
func (h *Handler) answer(c *call, result func() (any, error)) {
	defer h.done(c)
	answer, err := h.outcome(c, result)
	h.reply(c, answer, err)
}

// answerNow is answer without blocking: a goroutine writes what cannot be written at once.
func (h *Handler) answerNow(c *call, result func() (any, error)) {
	answer, err := h.outcome(c, result)
	h.replyNow(c, answer, err)
}

// replyNow is reply and done without blocking. The call is complete.
func (h *Handler) replyNow(c *call, result any, err error) {
	if h.stream != nil && h.stream.lines.TryWrite(h.responseLine(c, result, err)) {
		h.done(c)
		return
	}
	go func() {
		defer h.done(c)
		h.reply(c, result, err)
	}()
}

// outcome completes a call and returns what to answer. A call is complete before its answer is written, so that an
// agent which has read the answer can send another request.
func (h *Handler) outcome(c *call, result func() (any, error)) (any, error) {
	if err := h.complete(c); err != nil {
		return nil, err
	}
	return result()
}

// answerCreate is answerNow for a create. If that was cancelled, its terminal is released first.
func (h *Handler) answerCreate(c *call, t *Terminal, err error) {
	cancelled := h.complete(c)
	if cancelled != nil && t != nil {
		go func() {
			defer h.done(c)
			h.outputs.Forget(terminalOutput{t}) // it stays tracked, so that Close waits for it
			h.manager.discard(t)
			h.releaseCreateBytes(c.bytes)
			h.reply(c, nil, cancelled)
		}()
		return
	}
	h.releaseCreateBytes(c.bytes) // before the answer, after which the agent may send as much again
	switch {
	case cancelled != nil:
		h.replyNow(c, nil, cancelled)
	case err != nil:
		h.replyNow(c, nil, err)
	default:
		h.replyNow(c, CreateTerminalResponse{TerminalID: t.id}, nil)
	}
}

// complete removes a call from those that are pending, so that it cannot be cancelled any more. It fails if the call
// was cancelled before.
func (h *Handler) complete(c *call) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unanswered--
	h.unwritten++
	if h.pending[c.id] == c { // unless the agent used the id again, against JSON-RPC's rules
		delete(h.pending, c.id)
	}
	if c.cancelled != nil {
		return &Error{Op: c.method, Kind: ErrCancelled, Err: c.cancelled}
	}
	return nil
}

// done counts a call's answer as written.
func (h *Handler) done(c *call) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unwritten--
}

// reply writes an answer: to the Stream, or through jsonrpc2 without one. A failed write ends the connection, which its
// reader sees.
func (h *Handler) reply(c *call, result any, err error) {
	switch {
	case h.stream != nil:
		h.stream.lines.Write(h.responseLine(c, result, err))
	case err != nil:
		c.conn.ReplyWithError(context.Background(), c.id, ResponseError(h.toWireError(err)))
	default:
		c.conn.Reply(context.Background(), c.id, result)
	}
}

// responseLine returns an answer as a line.
func (h *Handler) responseLine(c *call, result any, err error) []byte {
	line := make([]byte, 0, 128) // room for most
	if err != nil {
		return wire.AppendError(line, c.wireID, ResponseError(h.toWireError(err)))
	}
	return wire.AppendResult(line, c.wireID, appendJSON(make([]byte, 0, 128), result))
}

// cancelPending cancels the pending request that the params of a $/cancel_request name, and reports whether there is
// one.
func (h *Handler) cancelPending(params []byte) bool {
	id, ok := wire.RequestID(wire.ReadObject(params).Get("requestId"))
	if !ok {
		return false
	}
	h.mu.Lock()
	c := h.pending[id]
	h.mu.Unlock()
	if c == nil {
		return false
	}
	h.cancelCall(c, errCancelRequest)
	return true
}

// cancelAll cancels all pending requests when the handler is closed.
func (h *Handler) cancelAll() {
	h.mu.Lock()
	var all []*call
	for _, c := range h.pending {
		all = append(all, c)
	}
	h.mu.Unlock()
	for _, c := range all {
		h.cancelCall(c, ErrClosing)
	}
}

func (h *Handler) cancelCall(c *call, why error) {
	h.mu.Lock()
	if c.cancelled == nil {
		c.cancelled = why
	}
	cancel := c.cancel
	h.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// servePoll answers a terminal/output at once if the answer is short and can be written without blocking. Otherwise it
// queues the request for answerPolls.
func (h *Handler) servePoll(c *call, t *Terminal) {
	h.mu.Lock()
	first := len(h.polls) == 0
	h.mu.Unlock()
	if first && h.stream != nil {
		if line := wire.ShortReply(terminalOutput{t}, c.wireID); line != nil && h.stream.lines.TryWrite(line) {
			h.complete(c)
			h.done(c)
			return
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	c.poll = t
	h.polls = append(h.polls, c)
	if len(h.polls) == 1 {
		go h.answerPolls()
	}
}

// answerPolls answers the queued polls in their order. Output is read when a poll's turn comes, so that queued polls
// hold no copy of it.
func (h *Handler) answerPolls() {
	for {
		h.mu.Lock()
		c := h.polls[0]
		h.mu.Unlock()
		h.answerPoll(c)
		h.mu.Lock()
		h.polls = h.polls[1:]
		more := len(h.polls) > 0
		h.mu.Unlock()
		if !more {
			return
		}
	}
}

func (h *Handler) answerPoll(c *call) {
	defer h.done(c)
	if err := h.complete(c); err != nil {
		h.reply(c, nil, err)
		return
	}
	if h.stream == nil {
		h.reply(c, c.poll.Output(), nil)
		return
	}
	h.stream.lines.WritePieces(func(write func([]byte) error) error {
		return h.outputs.Reply(terminalOutput{c.poll}, c.wireID, write)
	})
	if _, err := h.manager.Terminal(c.poll.session, c.poll.id); err != nil {
		h.outputs.Forget(terminalOutput{c.poll}) // it was released while the poll was answered
	}
}
