package acpterm

// A request's way from the line to the answer: serveMessage or Handle, serve, prepare, answer. Each request gets one
// answer; terminal/output in the order of arrival. An agent that does not read delays only its own answers.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm/internal/latch"
	"github.com/acpterm/acpterm/internal/notify"
	"github.com/acpterm/acpterm/internal/requests"
	"github.com/acpterm/acpterm/internal/wire"
)

// methods are the methods of terminals.
var methods = []string{MethodCreate, MethodOutput, MethodWaitForExit, MethodKill, MethodRelease}

// maxParamsBytes bounds the params of all requests but creates: they only name a session and a terminal.
const maxParamsBytes = 64 << 10

// A call is a request that waits for its answer.
type call struct {
	requests.Request
	method string
	to     replier
}

// errCancelRequest is why a request was cancelled by $/cancel_request.
var errCancelRequest = errors.New("the agent cancelled the request")

// serveMessage is Handle for a message of Filter. It reports whether it took the message.
func (h *Handler) serveMessage(ctx context.Context, m wire.Message, lines *wire.Lines) (taken bool) {
	switch {
	case m.Method == wire.MethodCancelRequest && m.ID == nil:
		return h.cancelPending(m.Params)
	case !slices.Contains(methods, m.Method):
		return false
	case m.ID != nil:
		id, _ := wire.RequestID(m.ID)
		to := viaLines{lines, &h.outputs, wire.ValidID(m.ID)} // m is valid until this returns
		h.serve(ctx, &call{requests.Request{ID: id}, m.Method, to}, m.Params)
	}
	return true
}

// cancelPending cancels the pending request that a $/cancel_request names. It reports whether it has found the request.
func (h *Handler) cancelPending(params []byte) bool {
	id, ok := wire.RequestID(wire.ReadObject(params).Get("requestId"))
	return ok && h.requests.Cancel(id, errCancelRequest)
}

// serve begins to answer a request. When it returns, the request is pending and has its terminal, so that a cancel or a
// release that follows on the wire comes after it.
//
// It blocks only to refuse a request, beyond MaxPending or after Close: goroutines for refusals would be unbounded.
func (h *Handler) serve(ctx context.Context, c *call, params []byte) {
	switch err := h.requests.Admit(&c.Request); err {
	case nil:
	case requests.ErrClosed: // the connection may go on
		h.reply(c, nil, &Error{Op: c.method, Kind: ErrClosing})
		return
	default:
		limit := int64(h.options.maxPending())
		h.reply(c, nil, &Error{Op: c.method, Kind: ErrQuota, Quota: "pending_requests", Limit: limit})
		return
	}
	work := h.prepare(c.method, params)
	answer := func() { h.answer(ctx, c, work) }
	switch w := work.(type) {
	case poll:
		h.polls.Add(answer, notify.Size{})
	case await:
		h.requests.Await(&c.Request, w.done, answer)
	default:
		go answer()
	}
}

// work is the rest of a request after prepare: known, a start, a poll or an await.
type work interface{ work() }

// known is a result without any work, often an error.
type known struct {
	result any
	err    error
}

// start is a create. Its request is a copy, and never changed. Its bytes are reserved until releaseCreateBytes.
type start struct {
	request CreateTerminalRequest
	bytes   int
}

// poll is a terminal/output. Its result is the output at the time of the answer.
type poll struct{ terminal *Terminal }

// await is a request whose result is there once done is set.
type await struct {
	done   *latch.Latch
	result func() (any, error)
}

func (known) work() {}
func (start) work() {}
func (poll) work()  {}
func (await) work() {}

// prepare reads the params and finds the terminal. It is called in the order of the requests and does not block. It
// begins a kill, and makes the id of a release unknown.
func (h *Handler) prepare(method string, params []byte) work {
	refuse := func(err error) work { return known{err: err} }
	if !slices.Contains(methods, method) {
		return refuse(&Error{Op: method, Kind: ErrMethodNotFound})
	}
	if h.closing.IsSet() {
		return refuse(&Error{Op: method, Kind: ErrClosing})
	}
	if err := h.Capabilities().Require(method); err != nil {
		return refuse(err)
	}
	if h.manager == nil {
		return refuse(&Error{Op: method, Kind: ErrInternal, Reason: "the Handler has no Manager"})
	}
	if method == MethodCreate {
		return h.prepareCreate(params)
	}
	if len(params) > maxParamsBytes {
		return refuse(invalidField("params", fmt.Sprintf("longer than %d bytes", maxParamsBytes)))
	}
	session, id, err := parseTerminalParams(params)
	if err != nil {
		return refuse(err)
	}
	session = h.toInternalID(session)
	t, kept := h.manager.lookUp(session, id)
	switch {
	case t == nil && method == MethodRelease && h.manager.ids.Issued(string(session), string(id)): // released before
		return known{result: struct{}{}}
	case t == nil || kept:
		return refuse(&Error{Kind: ErrTerminalNotFound, SessionID: session, TerminalID: id})
	case t.Attached():
		return refuse(&Error{Op: method, Kind: ErrTerminalNotFound, SessionID: session, TerminalID: id})
	}
	switch method {
	case MethodOutput:
		return poll{t}
	case MethodWaitForExit:
		return await{t.answerWaits(), func() (any, error) { return t.answerWait() }}
	}
	h.mu.Lock() // so that it comes before or after Close, which may keep the terminal
	defer h.mu.Unlock()
	if h.closing.IsSet() {
		return refuse(&Error{Op: method, Kind: ErrClosing})
	}
	if method == MethodKill {
		e := t.beginKill(EndedByKill)
		return await{&e.done, func() (any, error) { return struct{}{}, e.err }}
	}
	h.manager.beginRelease(t)
	return await{&t.release.done, func() (any, error) { return struct{}{}, t.release.err }}
}

// toInternalID returns the Manager's id of the agent's session. An empty id stays empty and is refused later.
func (h *Handler) toInternalID(id SessionID) SessionID {
	if id == "" {
		return ""
	}
	return h.options.SessionPrefix + id
}

// prepareCreate reads a create and reserves its memory. It refuses the create if all pending ones would need too much.
func (h *Handler) prepareCreate(params []byte) work {
	quota := func(name string, limit int) work {
		return known{err: &Error{Op: "create", Kind: ErrQuota, Quota: name, Limit: int64(limit)}}
	}
	if len(params) > maxCreateBytes {
		return quota("create_bytes", maxCreateBytes)
	}
	var req CreateTerminalRequest
	if err := req.UnmarshalJSON(params); err != nil {
		return known{err: err}
	}
	req.SessionID = h.toInternalID(req.SessionID)
	const perArg, perVariable = 16, 40 // bytes of each in its slice
	size := len(params) + perArg*len(req.Args) + perVariable*len(req.Env)
	limit := max(h.options.lineLimit(), maxCreateBytes)
	h.mu.Lock()
	defer h.mu.Unlock()
	if size > limit-h.createBytes {
		return quota("pending_create_bytes", limit)
	}
	h.createBytes += size
	return start{req, size}
}

func (h *Handler) releaseCreateBytes(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.createBytes -= n
}

// answer does the rest of a request and replies. The call is complete before the answer is written, so that an agent
// that has read the answer can send another request. A poll reads the output only now: queued polls hold no copies.
func (h *Handler) answer(ctx context.Context, c *call, w work) {
	defer h.requests.Done()
	if w, ok := w.(start); ok {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		complete := sync.OnceValue(func() error { return h.complete(c) })
		h.requests.OnCancel(&c.Request, cancel)
		created, err := h.create(ctx, w, complete)
		h.reply(c, created, cmp.Or(complete(), err))
		return
	}
	if err := h.complete(c); err != nil {
		h.reply(c, nil, err)
		return
	}
	switch w := w.(type) {
	case known:
		h.reply(c, w.result, w.err)
	case await:
		result, err := w.result()
		h.reply(c, result, err)
	case poll:
		c.to.replyOutput(w.terminal)
		if w.terminal.release.done.IsSet() || h.closing.IsSet() {
			h.outputs.Forget(terminalOutput{w.terminal}) // it was released or kept while the poll was answered
		}
	}
}

// complete makes a call uncancellable. It fails if the call has been cancelled.
func (h *Handler) complete(c *call) error {
	if cancelled := h.requests.Complete(&c.Request); cancelled != nil {
		return &Error{Op: c.method, Kind: ErrCancelled, Err: cancelled}
	}
	return nil
}

// create runs a create. It calls deliver when the terminal is ready, and releases the terminal if deliver fails.
func (h *Handler) create(ctx context.Context, w start, deliver func() error) (any, error) {
	defer h.releaseCreateBytes(w.bytes) // before the reply: an agent that has read it may send as much again
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer h.closing.OnSet(func() { cancel(ErrClosing) })()
	t, err := h.tracked(func(adopt func(*Terminal) error) (*Terminal, error) {
		return h.manager.create(ctx, w.request, nil, func(t *Terminal) error {
			if err := adopt(t); err != nil {
				return err
			}
			return deliver()
		})
	})
	if err != nil {
		return nil, err
	}
	h.setAnswered(t)
	return CreateTerminalResponse{TerminalID: t.id}, nil
}

// setAnswered marks a terminal whose id the agent gets, unless Close has begun to release it.
func (h *Handler) setAnswered(t *Terminal) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if own := h.terminals[t]; own != nil {
		own.answered = true
	}
}

// tracked calls create, which calls adopt with the new terminal. Close waits until then, and releases the terminal. An
// error of adopt is a panic of HandlerOptions.Created.
func (h *Handler) tracked(create func(adopt func(*Terminal) error) (*Terminal, error)) (*Terminal, error) {
	if !h.begin() {
		return nil, &Error{Kind: ErrClosing}
	}
	done := sync.OnceFunc(h.creates.Done)
	defer done()
	return create(func(t *Terminal) error {
		h.track(t, false)
		done() // Created may call Close
		if h.options.Created == nil {
			return nil
		}
		return callHook("Created", func() { h.options.Created(t) })
	})
}

// begin makes Close wait for h.creates.Done. It returns false if Close has been called.
func (h *Handler) begin() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing.IsSet() {
		return false
	}
	h.creates.Add(1)
	return true
}

// track adds a terminal to those of the Handler until the end of its release, which the host may begin too. Close waits
// for track.
func (h *Handler) track(t *Terminal, answered bool) {
	own := &tracking{answered: answered}
	h.mu.Lock()
	h.terminals[t] = own
	h.mu.Unlock()
	stop := t.release.done.OnSet(func() { h.untrack(t) }) // immediately after a release
	h.mu.Lock()
	own.stop = stop
	h.mu.Unlock()
}

// untrack forgets a terminal.
func (h *Handler) untrack(t *Terminal) {
	h.outputs.Forget(terminalOutput{t})
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.terminals, t)
}

// reply writes an answer.
func (h *Handler) reply(c *call, result any, err error) { c.to.reply(result, h.toWireError(err)) }

// toWireError returns an error with the agent's id of the session.
func (h *Handler) toWireError(err error) error {
	e, ok := err.(*Error)
	if !ok || h.options.SessionPrefix == "" {
		return err
	}
	onWire := *e
	onWire.SessionID = SessionID(strings.TrimPrefix(string(e.SessionID), string(h.options.SessionPrefix)))
	return &onWire
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

// Total returns 0 for a text that changes in place, which is then never read by Window.
func (o terminalOutput) Total() int64 {
	if polled := o.t.store.polled(); polled != nil {
		return polled.Total()
	}
	return 0
}

func (o terminalOutput) Window(raw []byte, known int64, size int) wire.Window {
	return wire.Window(o.t.store.polled().Window(raw, o.t.store.limits().last, known, size))
}

func (o terminalOutput) Response() (encode func(start int64) []byte) {
	respond := o.t.respond()
	return func(start int64) []byte {
		encoded, _ := json.Marshal(respond(start)) // its Meta is this package's own
		return encoded
	}
}
