package acpterm

// From JSON-RPC to a Manager and back: the five methods, what each is about, and errors onto codes; calls.go answers
// them. Everything that knows JSON-RPC is in these two, stream.go and internal/wire. One Handler serves one connection.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm/internal/latch"
	"github.com/acpterm/acpterm/internal/wire"
)

// The codes of ACP's own (schema type ErrorCode) that jsonrpc2 has no names for.
const (
	CodeResourceNotFound = -32002
	CodeRequestCancelled = -32800
)

// codes are what kinds of errors become on the wire. A kind that is not here is an internal error.
var codes = map[Kind]int64{
	ErrMethodNotFound:   jsonrpc2.CodeMethodNotFound,
	ErrInvalidParams:    jsonrpc2.CodeInvalidParams,
	ErrNotExecutable:    jsonrpc2.CodeInvalidParams,
	ErrCommandNotFound:  CodeResourceNotFound,
	ErrTerminalNotFound: CodeResourceNotFound,
	ErrCancelled:        CodeRequestCancelled,
	ErrDenied:           jsonrpc2.CodeInvalidParams,
	ErrSessionNotFound:  CodeResourceNotFound,
	ErrQuota:            CodeRequestCancelled,
	ErrClosing:          CodeRequestCancelled,
}

// maxParamsBytes is how many bytes the params of all other requests may have. They name a session and a terminal.
const maxParamsBytes = 64 << 10

// Handler serves the terminal/* methods of one connection from a Manager. It is a jsonrpc2.Handler; with
// another JSON-RPC library, call Dispatch. When its connection ends, or Close is called, it releases the
// terminals that were created through it.
//
// All methods may be called concurrently.
type Handler struct {
	manager *Manager
	options HandlerOptions
	stream  *Stream // takes the replies; nil: jsonrpc2 does. Set before the first request
	outputs wire.Cache

	connected sync.Once      // the connection is known
	closing   latch.Latch    // Close was called
	creates   sync.WaitGroup // creates under way; none is added once closed is set

	mu          sync.Mutex
	closed      bool
	unanswered  int // requests
	unwritten   int // answers that are to be written, or are being written
	createBytes int // that creates without an answer hold
	pending     map[jsonrpc2.ID]*call
	terminals   map[TerminalID]*Terminal // created here and not released here
	polls       []*call                  // terminal/output requests, answered in the order in which they came
}

// NewHandler returns a handler for one connection; nil options mean all defaults. The options are copied. Without a
// Manager every terminal request fails with ErrInternal.
func NewHandler(m *Manager, options *HandlerOptions) *Handler {
	h := &Handler{
		manager:   m,
		pending:   make(map[jsonrpc2.ID]*call),
		terminals: make(map[TerminalID]*Terminal),
	}
	if options != nil {
		h.options, h.stream = *options, options.Stream
		h.options.SupportedMethods = slices.Clone(options.SupportedMethods)
		if options.Capabilities != nil {
			h.options.Capabilities = new(*options.Capabilities)
		}
	}
	return h
}

// Capabilities is what to put into initialize as clientCapabilities, or to copy there. It is what this
// handler holds requests against.
func (h *Handler) Capabilities() ClientCapabilities {
	if h.options.Capabilities != nil {
		return *h.options.Capabilities
	}
	return ClientCapabilities{Terminal: true}
}

// Handle is for jsonrpc2: it returns at once, and the answer follows. Requests are served concurrently, so that one
// which waits holds up nothing; only terminal/output requests are answered in the order in which they came. terminal/*
// notifications, to which there is no answer, are dropped. When conn has ended, the Handler is closed.
//
// Policies and hooks get the values of ctx. Its end does not end the request, since Handle has returned by then: the
// connection's end does, $/cancel_request and Close.
//
// It waits for the agent to read only when MaxPending requests are without an answer.
func (h *Handler) Handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	h.closeAfter(conn)
	switch {
	case req.Method == MethodCancelRequest && req.Notif && h.cancelPending(paramsOf(req)):
	case h.options.Next != nil && !slices.Contains(methods, req.Method):
		h.options.Next.Handle(ctx, conn, req)
	case !req.Notif:
		c := &call{method: req.Method, id: req.ID, wireID: wire.WireID(req.ID), conn: conn}
		h.serve(context.WithoutCancel(ctx), c, paramsOf(req))
	}
}

func paramsOf(req *jsonrpc2.Request) []byte {
	if req.Params == nil {
		return nil
	}
	return *req.Params
}

// Connect is jsonrpc2.NewConn with this handler, and faster: the stream hands terminal/* requests to the handler and
// writes its replies, and jsonrpc2, which decodes each line three times, does not see them. So its OnRecv and OnSend do
// not get those, nor does a handler that wraps this one; where that matters, call NewConn, with HandlerOptions.Stream
// or without. All else is the same: Next gets what is not terminal/*, in its order among what is, and the end of the
// connection, or of ctx, is the handler's.
//
// It takes the stream, which must be new, and is called once. A nil stream is a connection that has ended.
func (h *Handler) Connect(ctx context.Context, s *Stream, options ...jsonrpc2.ConnOpt) *jsonrpc2.Conn {
	if s == nil {
		s = NewStream(nil)
	}
	h.stream = s
	s.serve = func(m wire.Message) bool { return h.serveMessage(ctx, m) }
	conn := jsonrpc2.NewConn(ctx, s, h, options...)
	h.closeAfter(conn)
	return conn
}

// closeAfter closes the handler when its connection has ended.
func (h *Handler) closeAfter(conn *jsonrpc2.Conn) {
	h.connected.Do(func() {
		go func() {
			select {
			case <-conn.DisconnectNotify():
				h.Close()
			case <-h.closing.Done():
			}
		}()
	})
}

// methods are those that Dispatch serves.
var methods = []string{MethodCreate, MethodOutput, MethodWaitForExit, MethodKill, MethodRelease}

// Dispatch serves one request of any JSON-RPC library: a method, its params as they came, and the result to
// send or an error that ResponseError turns into a code, a message and data. It returns when the answer is
// there; for terminal/wait_for_exit that may be long, so call it in a goroutine of its own and read on. ctx
// bounds the request and never the command; end it for $/cancel_request and when the connection ends. When the
// connection has ended, call Close.
//
// A method that is not one of the five terminal/* methods is an *Error of kind ErrMethodNotFound, and one that
// was not advertised a *CapabilityError.
func (h *Handler) Dispatch(ctx context.Context, method string, params json.RawMessage) (result any, err error) {
	result, err = h.dispatch(ctx, method, params)
	return result, h.outward(err)
}

func (h *Handler) dispatch(ctx context.Context, method string, params json.RawMessage) (result any, err error) {
	switch w := h.admit(method, params).(type) {
	case refusal:
		return nil, w.err
	case start:
		defer h.releaseCreateBytes(w.bytes)
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		t, err := h.create(ctx, cancel, w.request)
		if err != nil {
			return nil, err
		}
		return CreateTerminalResponse{TerminalID: t.id}, nil
	case poll:
		return w.terminal.Output(), nil
	case await:
		select {
		case <-w.done.Done():
			return w.result()
		case <-ctx.Done():
			return nil, &Error{Op: method, Kind: ErrCancelled, Err: context.Cause(ctx)}
		}
	}
	panic("acpterm: a request without work")
}

// work is what is left of a request when that part of it is done which has its place in the order of requests: its
// params are read, and its terminal is found. It is one of the four types that follow.
type work interface{ work() }

// refusal is a request that something is wrong with.
type refusal struct{ err error }

// start is a create. Its bytes are to be released when it is answered.
type start struct {
	request CreateTerminalRequest
	bytes   int
}

// poll is a terminal/output: it waits for nothing, and its result is what the output is when it is answered.
type poll struct{ terminal *Terminal }

// await is a request whose result is there when a latch is set.
type await struct {
	done   *latch.Latch
	result func() (any, error)
}

func (refusal) work() {}
func (start) work()   {}
func (poll) work()    {}
func (await) work()   {}

// admit does the part of a request that has its place in the order of requests, and waits for nothing. A release's id
// is dead from here on.
func (h *Handler) admit(method string, params json.RawMessage) work {
	if !slices.Contains(methods, method) {
		return refusal{methodNotFound(method)}
	}
	if err := h.Capabilities().Require(method); err != nil {
		refused := err.(*CapabilityError)
		refused.SupportedMethods = append(refused.SupportedMethods, h.options.SupportedMethods...)
		return refusal{refused}
	}
	if h.manager == nil {
		return refusal{&Error{Op: method, Kind: ErrInternal, Reason: "the Handler has no Manager"}}
	}
	if method == MethodCreate {
		if limit := h.options.maxCreateBytes(); len(params) > limit {
			return refusal{&Error{Op: "create", Kind: ErrQuota, Quota: QuotaCreateBytes, Limit: int64(limit)}}
		}
		var req CreateTerminalRequest
		if err := req.UnmarshalJSON(params); err != nil {
			return refusal{err}
		}
		req.SessionID = h.inward(req.SessionID)
		return h.reserveCreateBytes(req, len(params))
	}
	if len(params) > maxParamsBytes {
		return refusal{invalidField("params", fmt.Sprintf("longer than %d bytes", maxParamsBytes))}
	}
	session, id, err := parseTerminalParams(params)
	if err != nil {
		return refusal{err}
	}
	session = h.inward(session)
	if method == MethodRelease {
		return h.admitRelease(session, id)
	}
	t, err := h.manager.Terminal(session, id)
	if err != nil {
		return refusal{err}
	}
	switch method {
	case MethodOutput:
		return poll{t}
	case MethodKill:
		e := t.beginKill()
		return await{&e.done, func() (any, error) { return KillTerminalResponse{}, e.err }}
	default:
		return await{&t.ended, func() (any, error) {
			status, err := t.exitStatus()
			return WaitForTerminalExitResponse(status), err
		}}
	}
}

// reserveCreateBytes counts what a create holds, unless all that are not answered would hold too much.
func (h *Handler) reserveCreateBytes(req CreateTerminalRequest, params int) work {
	const perArg, perVariable = 16, 40 // bytes that each takes in its slice
	size := params + perArg*len(req.Args) + perVariable*len(req.Env)
	limit := h.options.maxPendingCreateBytes()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.createBytes+size > limit {
		return refusal{&Error{Op: "create", Kind: ErrQuota, Quota: QuotaPendingCreateBytes, Limit: int64(limit)}}
	}
	h.createBytes += size
	return start{req, size}
}

func (h *Handler) releaseCreateBytes(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.createBytes -= n
}

func (h *Handler) admitRelease(session SessionID, id TerminalID) work {
	t, err := h.manager.beginRelease(session, id, EndedByRelease)
	if err != nil {
		return refusal{err}
	}
	if t == nil { // it was released before
		done := new(latch.Latch)
		done.Set()
		return await{done, func() (any, error) { return ReleaseTerminalResponse{}, nil }}
	}
	h.outputs.Forget(terminalOutput{t}) // and Close waits for it until it is gone
	return await{&t.retired, func() (any, error) { return ReleaseTerminalResponse{}, t.retireErr }}
}

// create creates a terminal, unless this handler is closed or ctx, whose cancel comes with it, ends.
func (h *Handler) create(
	ctx context.Context, cancel context.CancelCauseFunc, req CreateTerminalRequest,
) (*Terminal, error) {
	t, err := h.createAndKeep(ctx, cancel, req)
	if err != nil || h.options.Created == nil {
		return t, err
	}
	if err := callHook("Created", func() { h.options.Created(t) }); err != nil {
		h.manager.discard(t)
		return nil, inOperation("create", req.SessionID, err)
	}
	return t, nil
}

// createAndKeep creates a terminal that is released with the handler at the latest. Close waits for it.
func (h *Handler) createAndKeep(
	ctx context.Context, cancel context.CancelCauseFunc, req CreateTerminalRequest,
) (*Terminal, error) {
	if !h.beginCreate() {
		return nil, &Error{Op: "create", Kind: ErrClosing, SessionID: req.SessionID}
	}
	defer h.creates.Done()
	defer h.closing.OnSet(func() { cancel(ErrClosing) })()
	t, err := h.manager.create(ctx, req, nil)
	switch {
	case err == nil:
		h.keep(t)
		return t, nil
	case context.Cause(ctx) == error(ErrClosing):
		return nil, &Error{Op: "create", Kind: ErrClosing, SessionID: req.SessionID}
	}
	return nil, err
}

// beginCreate counts a create, unless the handler is closed.
func (h *Handler) beginCreate() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.creates.Add(1)
	}
	return !h.closed
}

// keep puts a terminal on the list of those to release in the end.
func (h *Handler) keep(t *Terminal) {
	h.mu.Lock()
	h.terminals[t.id] = t
	h.mu.Unlock()
	t.retired.OnSet(func() { h.forget(t) }) // by whomever it is released
}

// forget takes a terminal off the list of those to release in the end.
func (h *Handler) forget(t *Terminal) {
	h.outputs.Forget(terminalOutput{t})
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.terminals, t.id)
}

// Close cancels creates that are under way, releases the terminals that were created through this handler, as
// Manager.Release does, and returns when they are gone; its error is that of the releases, joined. Pending requests are answered, if the agent
// still reads, and later ones refused with ErrClosing. jsonrpc2 need not be told: the end of its connection does
// it. A Close that comes later waits as well.
func (h *Handler) Close() error {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.closing.Set()
	h.cancelAll()
	h.creates.Wait()
	h.mu.Lock()
	terminals := appendTerminals(nil, h.terminals)
	h.mu.Unlock()
	if len(terminals) == 0 {
		return nil
	}
	return h.manager.releaseAll(context.Background(), terminals, EndedByRelease)
}

// inward is the manager's id of a session that the agent names. No id stays none, so that it is refused.
func (h *Handler) inward(id SessionID) SessionID {
	if id == "" {
		return ""
	}
	return h.options.SessionPrefix + id
}

// outward is an error with the session's id as the agent knows it.
func (h *Handler) outward(err error) error {
	e, ok := err.(*Error)
	if !ok || h.options.SessionPrefix == "" {
		return err
	}
	told := *e
	told.SessionID = SessionID(strings.TrimPrefix(string(e.SessionID), string(h.options.SessionPrefix)))
	return &told
}

// methodNotFound is the error for a method that nobody serves.
func methodNotFound(method string) *Error {
	return &Error{Op: method, Kind: ErrMethodNotFound}
}

// errorData is the data of an error on the wire.
type errorData struct {
	Kind       Kind       `json:"kind"`
	Method     string     `json:"method,omitempty"`
	Field      string     `json:"field,omitempty"`
	Reason     string     `json:"reason,omitempty"`
	Rule       string     `json:"rule,omitempty"`
	SessionID  SessionID  `json:"sessionId,omitempty"`
	TerminalID TerminalID `json:"terminalId,omitempty"`
	Command    string     `json:"command,omitempty"`
	PIDs       []int      `json:"pids,omitempty"`
	Quota      Quota      `json:"quota,omitempty"`
	Limit      int64      `json:"limit,omitempty"`
}

// ResponseError is an error as it goes out on the wire: a code, a message and data, which is an object that tells
// programs what is wrong. It takes any error; what is not of this package, and no *jsonrpc2.Error already, is an
// internal error. Of nil it is nil: a pointer, so test err and not the result where that becomes an error.
func ResponseError(err error) *jsonrpc2.Error {
	if err == nil {
		return nil
	}
	if ready, ok := errors.AsType[*jsonrpc2.Error](err); ok {
		return ready
	}
	if refused, ok := errors.AsType[*CapabilityError](err); ok {
		return responseError(jsonrpc2.CodeMethodNotFound, refused, refused)
	}
	e, ok := errors.AsType[*Error](err)
	if !ok {
		e = &Error{Kind: ErrInternal, Err: err}
	}
	code, ok := codes[e.Kind]
	if !ok {
		code = jsonrpc2.CodeInternalError
	}
	data := errorData{
		Kind: e.Kind, Field: e.Field, Reason: e.Reason, Rule: e.Rule,
		SessionID: e.SessionID, TerminalID: e.TerminalID, Command: e.Command, PIDs: e.PIDs,
		Quota: e.Quota, Limit: e.Limit,
	}
	if e.Kind == ErrMethodNotFound {
		data.Method = e.Op
	}
	return responseError(code, e, data)
}

// invalidMessage is the error that a line which is no message is answered with.
func invalidMessage(f *wire.Fault) *jsonrpc2.Error {
	e := &Error{Kind: ErrInvalidMessage, Reason: "the line " + f.Reason}
	return responseError(f.Code, e, errorData{Kind: e.Kind, Reason: e.Reason})
}

func responseError(code int64, err error, data any) *jsonrpc2.Error {
	e := &jsonrpc2.Error{Code: code, Message: err.Error()}
	e.SetError(data)
	return e
}
