package acpterm

// The requests of one connection between their coming and their answer: each is answered once, in its order where
// order matters, cancelled or not, and an agent that does not read holds up nothing but itself.

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
	id     jsonrpc2.ID    // as jsonrpc2 has it, or would have
	wireID []byte         // as it came
	conn   *jsonrpc2.Conn // nil if jsonrpc2 has not seen it
	poll   *Terminal      // of a terminal/output that waits for its turn
	bytes  int            // that a create holds until it is answered

	// Under Handler.mu.
	cancelled error  // why; nil if it is not
	cancel    func() // has a request that waits go on; nil if it waits for nothing
}

// spareAnswers is how many more answers than requests may be under way: an agent that has read one may ask again before
// the goroutine that wrote it says so.
const spareAnswers = 64

// errCancelRequest is why a request was cancelled by $/cancel_request.
var errCancelRequest = errors.New("the agent cancelled the request")

// serveMessage is Handle for a message that jsonrpc2 has not seen. It reports false if the message is for jsonrpc2.
func (h *Handler) serveMessage(ctx context.Context, m wire.Message) (taken bool) {
	switch {
	case m.Method == MethodCancelRequest && m.ID == nil:
		return h.cancelPending(m.Params)
	case !slices.Contains(methods, m.Method):
		return false
	case m.ID != nil:
		id, _ := wire.RequestID(m.ID)
		wireID := bytes.ToValidUTF8(m.ID, []byte(string(utf8.RuneError))) // a copy: the line is good until this returns
		h.serve(ctx, &call{method: m.Method, id: id, wireID: wireID}, m.Params)
	}
	return true
}

// serve begins to answer a request. What order matters to is done before it returns: the request is pending, so that a
// cancel which follows it on the wire finds it, and it has its terminal, so that a release which follows it does not
// take that away. It waits only to refuse a request beyond MaxPending: that takes no further goroutine.
func (h *Handler) serve(ctx context.Context, c *call, params []byte) {
	if err := h.enter(c); err != nil {
		h.reply(c, nil, err)
		return
	}
	switch w := h.admit(c.method, params).(type) {
	case refusal:
		go h.answer(c, func() (any, error) { return nil, w.err })
	case start:
		ctx, cancel := context.WithCancelCause(ctx)
		h.letCancel(c, func() { cancel(nil) })
		c.bytes = w.bytes
		go func() {
			defer cancel(nil)
			created, err := h.create(ctx, cancel, w.request)
			h.answerCreate(c, created, err)
		}()
	case poll:
		h.servePoll(c, w.terminal)
	case await: // without a goroutine, so that many cost little
		stop := w.done.OnSet(func() { h.answerNow(c, w.result) })
		h.letCancel(c, func() {
			if stop() {
				go h.answer(c, w.result)
			}
		})
	}
}

// enter makes a call one of those that are pending, unless there are too many.
func (h *Handler) enter(c *call) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	limit := h.options.maxPending()
	switch {
	case h.closed: // this handler, and not the connection
		return &Error{Op: c.method, Kind: ErrClosing}
	case h.unanswered >= limit, h.unwritten >= limit+spareAnswers:
		return &Error{Op: c.method, Kind: ErrQuota, Quota: QuotaPendingRequests, Limit: int64(limit)}
	}
	h.unanswered++
	h.pending[c.id] = c
	return nil
}

// letCancel says what has to be done to cancel a call, or does it if it was cancelled before that was known.
func (h *Handler) letCancel(c *call, cancel func()) {
	h.mu.Lock()
	c.cancel = cancel
	cancelled := c.cancelled != nil
	h.mu.Unlock()
	if cancelled {
		cancel()
	}
}

// answer replies with a result that is there, unless the call was cancelled.
func (h *Handler) answer(c *call, result func() (any, error)) {
	defer h.leave(c)
	answer, err := h.outcome(c, result)
	h.reply(c, answer, err)
}

// answerNow is answer without a wait: what cannot be written at once is written by a goroutine.
func (h *Handler) answerNow(c *call, result func() (any, error)) {
	answer, err := h.outcome(c, result)
	h.replyNow(c, answer, err)
}

// replyNow is reply for a call that is settled, and its leave, without a wait.
func (h *Handler) replyNow(c *call, result any, err error) {
	if h.stream != nil && h.stream.lines.TryWrite(h.responseLine(c, result, err)) {
		h.leave(c)
		return
	}
	go func() {
		defer h.leave(c)
		h.reply(c, result, err)
	}()
}

// outcome settles a call, and is what to answer. It comes before the answer, so that an agent which has read that finds
// its place among those pending free.
func (h *Handler) outcome(c *call, result func() (any, error)) (any, error) {
	if err := h.settle(c); err != nil {
		return nil, err
	}
	return result()
}

// answerCreate is answerNow for a create, which leaves nothing if it was cancelled.
func (h *Handler) answerCreate(c *call, t *Terminal, err error) {
	cancelled := h.settle(c)
	if cancelled != nil && t != nil {
		go func() {
			defer h.leave(c)
			h.outputs.Forget(terminalOutput{t}) // and Close waits for it until it is gone
			h.manager.discard(t)
			h.releaseCreateBytes(c.bytes)
			h.reply(c, nil, cancelled)
		}()
		return
	}
	h.releaseCreateBytes(c.bytes) // before the answer: an agent that has read it may ask for as much again
	switch {
	case cancelled != nil:
		h.replyNow(c, nil, cancelled)
	case err != nil:
		h.replyNow(c, nil, err)
	default:
		h.replyNow(c, CreateTerminalResponse{TerminalID: t.id}, nil)
	}
}

// settle makes a call one that is about to be answered and can be cancelled no more. It fails if it was cancelled
// before.
func (h *Handler) settle(c *call) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unanswered--
	h.unwritten++
	if h.pending[c.id] == c { // an agent may have used the id again, against the rules
		delete(h.pending, c.id)
	}
	if c.cancelled != nil {
		return &Error{Op: c.method, Kind: ErrCancelled, Err: c.cancelled}
	}
	return nil
}

// leave says that a call's answer is written.
func (h *Handler) leave(c *call) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unwritten--
}

// reply writes an answer, by jsonrpc2 if no Stream is known. An error of the write is the connection's end, which its
// reader sees as well.
func (h *Handler) reply(c *call, result any, err error) {
	switch {
	case h.stream != nil:
		h.stream.lines.Write(h.responseLine(c, result, err))
	case err != nil:
		c.conn.ReplyWithError(context.Background(), c.id, ResponseError(h.outward(err)))
	default:
		c.conn.Reply(context.Background(), c.id, result)
	}
}

// responseLine is an answer as it goes on the wire.
func (h *Handler) responseLine(c *call, result any, err error) []byte {
	line := make([]byte, 0, 128) // room for most
	if err != nil {
		return wire.AppendError(line, c.wireID, ResponseError(h.outward(err)))
	}
	return wire.AppendResult(line, c.wireID, appendJSON(make([]byte, 0, 128), result))
}

// cancelPending cancels the request that a $/cancel_request with these params names, and reports whether it is one of ours.
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

// cancelAll cancels what is pending, because this handler is closed.
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

// servePoll answers a terminal/output: at once, if the answer is short and can be written without waiting, and else in
// a goroutine, one for all polls, that writes them in their order.
func (h *Handler) servePoll(c *call, t *Terminal) {
	h.mu.Lock()
	first := len(h.polls) == 0
	h.mu.Unlock()
	if first && h.stream != nil {
		if line := wire.ShortReply(terminalOutput{t}, c.wireID); line != nil && h.stream.lines.TryWrite(line) {
			h.settle(c)
			h.leave(c)
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

// answerPolls is the goroutine that there is while polls wait for an answer. A poll looks at the output when its turn
// has come, so that polls which wait cost no copy of it.
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
	defer h.leave(c)
	if err := h.settle(c); err != nil {
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
		h.outputs.Forget(terminalOutput{c.poll}) // it was released meanwhile
	}
}
