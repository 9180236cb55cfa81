package acpterm

// A request's way from the line to the answer. Each gets one answer; terminal/output in the order of arrival. An agent
// that does not read delays only its own answers.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm/internal/latch"
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

// outputThatFits is Output for one line of a connection. If the line would be too long, it leaves out the head, whose
// outputStart would be wrong, and then the beginning of the output.
func (t *Terminal) outputThatFits() TerminalOutputResponse {
	const most = wire.MaxLine - 4<<10 // without the id and the status
	r := t.Output()
	if room := most - len(r.Meta["acpterm"]); room < 0 || len(wire.Fit(r.Output, room)) < len(r.Output) {
		text := wire.Fit(r.Output, most)
		r.Output, r.Truncated, r.Meta = text, r.Truncated || len(text) < len(r.Output), nil
	}
	return r
}

// terminalOutput is a terminal's output as polls read it.
type terminalOutput struct{ t *Terminal }

func (o terminalOutput) Text() (text string, start int64) { return o.t.store.text() }

func (o terminalOutput) Total() int64 { return o.t.store.polled() }

func (o terminalOutput) Window(raw []byte, known int64, size int) wire.Window {
	return wire.Window(o.t.store.buffer().Window(raw, o.t.store.limits().last, known, size))
}

func (o terminalOutput) Response() (encode func(start int64) []byte) {
	respond := o.t.respond()
	return func(start int64) []byte {
		encoded, _ := json.Marshal(respond(start)) // its Meta is this package's own
		return encoded
	}
}

// maxParamsBytes bounds the params of all requests but creates: they only name a session and a terminal.
const maxParamsBytes = 64 << 10

// methods are the methods of terminals.
var methods = []string{MethodCreate, MethodOutput, MethodWaitForExit, MethodKill, MethodRelease}

// work is the rest of a request after prepare: a refusal, a start, a poll or an await.
type work interface{ work() }

type refusal struct{ err error }

// start is a create. Its bytes are reserved until releaseCreateBytes.
type start struct {
	request CreateTerminalRequest
	bytes   int
}

// poll is a terminal/output. Its result is the output at the time of the answer.
type poll struct{ terminal *Terminal }

type await struct {
	done   *latch.Latch
	result func() (any, error)
}

func (refusal) work() {}

func (start) work() {}

func (poll) work() {}

func (await) work() {}

// prepare reads the params and finds the terminal. It is called in the order of the requests and does not block. It
// makes the id of a release unknown.
func (h *Handler) prepare(method string, params json.RawMessage) work {
	if !slices.Contains(methods, method) {
		return refusal{&Error{Op: method, Kind: ErrMethodNotFound}}
	}
	if h.closing.IsSet() {
		return refusal{&Error{Op: method, Kind: ErrClosing}}
	}
	if err := h.Capabilities().Require(method); err != nil {
		return refusal{err}
	}
	if h.manager == nil {
		return refusal{&Error{Op: method, Kind: ErrInternal, Reason: "the Handler has no Manager"}}
	}
	if method == MethodCreate {
		if limit := h.options.maxCreateBytes(); len(params) > limit {
			return refusal{&Error{Op: "create", Kind: ErrQuota, Quota: "create_bytes", Limit: int64(limit)}}
		}
		var req CreateTerminalRequest
		if err := req.UnmarshalJSON(params); err != nil {
			return refusal{err}
		}
		req.SessionID = h.toInternalID(req.SessionID)
		return h.reserveCreateBytes(req, len(params))
	}
	if len(params) > maxParamsBytes {
		return refusal{invalidField("params", fmt.Sprintf("longer than %d bytes", maxParamsBytes))}
	}
	session, id, err := parseTerminalParams(params)
	if err != nil {
		return refusal{err}
	}
	session = h.toInternalID(session)
	t, err := h.manager.Terminal(session, id)
	if err == nil && t.Attached() {
		err = &Error{Op: method, Kind: ErrTerminalNotFound, SessionID: session, TerminalID: id}
	}
	if method == MethodRelease && (err == nil || t == nil) {
		return h.prepareRelease(session, id)
	}
	if err != nil {
		return refusal{err}
	}
	switch method {
	case MethodOutput:
		return poll{t}
	case MethodKill:
		e := t.beginKill()
		return await{&e.done, func() (any, error) { return EmptyResponse{}, e.err }}
	default:
		return await{&t.ended, func() (any, error) { return t.exitStatus() }}
	}
}

// reserveCreateBytes reserves the memory of a create, and refuses the create if all pending creates would need too
// much.
func (h *Handler) reserveCreateBytes(req CreateTerminalRequest, params int) work {
	const perArg, perVariable = 16, 40 // bytes of each in its slice
	size := params + perArg*len(req.Args) + perVariable*len(req.Env)
	limit := maxPendingCreates * min(h.options.maxCreateBytes(), math.MaxInt/maxPendingCreates)
	h.mu.Lock()
	defer h.mu.Unlock()
	if size > limit-h.createBytes {
		return refusal{&Error{Op: "create", Kind: ErrQuota, Quota: "pending_create_bytes", Limit: int64(limit)}}
	}
	h.createBytes += size
	return start{req, size}
}

func (h *Handler) releaseCreateBytes(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.createBytes -= n
}

func (h *Handler) prepareRelease(session SessionID, id TerminalID) work {
	t, err := h.manager.beginRelease(session, id, EndedByRelease)
	if err != nil {
		return refusal{err}
	}
	if t == nil { // released before
		done := new(latch.Latch)
		done.Set()
		return await{done, func() (any, error) { return EmptyResponse{}, nil }}
	}
	h.outputs.Forget(terminalOutput{t}) // t stays tracked, so that Close waits for it
	return await{&t.release.done, func() (any, error) { return EmptyResponse{}, t.release.err }}
}

func (h *Handler) create(ctx context.Context, req CreateTerminalRequest) (*Terminal, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer h.closing.OnSet(func() { cancel(ErrClosing) })()
	t, err := h.tracked(func() (*Terminal, error) { return h.manager.create(ctx, req, nil) })
	switch {
	case err == nil:
		err = h.announce(t)
	case context.Cause(ctx) == error(ErrClosing):
		err = &Error{Kind: ErrClosing}
	}
	if err != nil {
		return nil, inOperation("create", req.SessionID, err)
	}
	return t, nil
}
