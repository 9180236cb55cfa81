package acpterm

// From JSON-RPC to a Manager and back: the five methods, $/cancel_request, and errors onto codes. Everything
// that knows JSON-RPC is here and in stream.go. One Handler serves one connection.

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/sourcegraph/jsonrpc2"
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
	ErrClosing:          CodeRequestCancelled,
}

// HandlerOptions configure a Handler. The zero value, and nil in its place, is good.
type HandlerOptions struct {
	// Next gets every request and notification that is not terminal/*, and every $/cancel_request that does not
	// name a pending terminal/* request. It is called as jsonrpc2 calls a handler: while it runs, nothing else
	// is read. Nil: requests are answered -32601, notifications dropped.
	Next jsonrpc2.Handler

	// Capabilities are what the client advertises in initialize, and Handler.Capabilities returns. Nil:
	// terminals are advertised. If they are not, every terminal/* is answered -32601.
	Capabilities *ClientCapabilities

	// Created is told of each terminal that the agent creates, before the agent is: the place from which to show
	// live output, with Terminal.Follow in a goroutine. It is called by the goroutine that serves the request,
	// side by side for several; only that create waits for it to return. Nil: nobody is told.
	Created func(*Terminal)

	// SupportedMethods are the methods that Next serves. An agent that calls terminal/* without the capability is
	// told them.
	SupportedMethods []string
}

// Handler serves the terminal/* methods of one connection from a Manager. It is a jsonrpc2.Handler; with
// another JSON-RPC library, call Dispatch. When its connection ends, or Close is called, it releases the
// terminals that were created through it.
//
// All methods may be called concurrently.
type Handler struct {
	manager *Manager
	options HandlerOptions

	connected sync.Once // the first request brings the connection's context

	mu        sync.Mutex
	closed    bool
	pending   map[jsonrpc2.ID]*call
	terminals map[TerminalID]*Terminal // created here and not released here
	polls     []*call                  // terminal/output requests, answered in the order in which they came
}

// call is a request that has not been answered.
type call struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	conn   *jsonrpc2.Conn
	id     jsonrpc2.ID
	serve  service
}

// service does what a request asks for, waits for what it has to wait for, and returns the result.
type service func(context.Context) (any, error)

// errCancelRequest is the cause of a request's context ending by $/cancel_request.
var errCancelRequest = errors.New("the agent cancelled the request")

// NewHandler returns a handler for one connection; nil options mean all defaults. The options are copied.
func NewHandler(m *Manager, options *HandlerOptions) *Handler {
	h := &Handler{
		manager:   m,
		pending:   make(map[jsonrpc2.ID]*call),
		terminals: make(map[TerminalID]*Terminal),
	}
	if options != nil {
		h.options = *options
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

// Handle is for jsonrpc2: it returns at once, and the answer follows. Requests are served side by side, so
// that one which waits holds up nothing; only terminal/output requests are answered in the order in which they
// came. terminal/* notifications, which nobody could get an answer to, are dropped.
func (h *Handler) Handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	h.connected.Do(func() { context.AfterFunc(ctx, func() { h.Close() }) })
	switch {
	case req.Method == MethodCancelRequest && h.cancelPending(req):
	case h.options.Next != nil && !slices.Contains(methods, req.Method):
		h.options.Next.Handle(ctx, conn, req)
	case !req.Notif:
		h.serve(ctx, conn, req)
	}
}

// methods are those that Dispatch serves.
var methods = []string{MethodCreate, MethodOutput, MethodWaitForExit, MethodKill, MethodRelease}

// serve begins to answer a request. What order matters to is done before it returns: the request is pending,
// so that a cancel which follows it on the wire finds it, and it has its terminal, so that a release which
// follows it does not take that away.
func (h *Handler) serve(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	var params json.RawMessage
	if req.Params != nil {
		params = *req.Params
	}
	c := &call{conn: conn, id: req.ID, serve: h.admit(req.Method, params)}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed { // this handler, and not the connection
		go conn.ReplyWithError(ctx, req.ID, ResponseError(&Error{Op: req.Method, Kind: ErrClosing}))
		return
	}
	h.pending[c.id] = c
	if req.Method != MethodOutput {
		go h.answer(c)
		return
	}
	h.polls = append(h.polls, c)
	if len(h.polls) == 1 {
		go h.answerPolls()
	}
}

// answerPolls is the goroutine that there is while polls wait for an answer. A poll looks at the output when
// its turn has come, so that polls which wait cost no copy of it.
func (h *Handler) answerPolls() {
	for {
		h.mu.Lock()
		c := h.polls[0]
		h.mu.Unlock()
		h.answer(c)
		h.mu.Lock()
		h.polls = h.polls[1:]
		more := len(h.polls) > 0
		h.mu.Unlock()
		if !more {
			return
		}
	}
}

// answer serves a request and replies. A cancel that came before it was done wins.
func (h *Handler) answer(c *call) {
	defer c.cancel(nil)
	result, err := c.serve(c.ctx)
	if h.settle(c) {
		if created, ok := result.(CreateTerminalResponse); ok {
			h.undo(created.TerminalID)
		}
		result, err = nil, &Error{Kind: ErrCancelled, Err: errCancelRequest}
	}
	if err != nil {
		c.conn.ReplyWithError(c.ctx, c.id, ResponseError(err))
		return
	}
	c.conn.Reply(c.ctx, c.id, result)
}

// settle makes a call one that can be cancelled no more and reports whether it was cancelled before.
func (h *Handler) settle(c *call) (cancelled bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pending[c.id] == c { // an agent may have used the id again, against the rules
		delete(h.pending, c.id)
	}
	return errors.Is(context.Cause(c.ctx), errCancelRequest)
}

// cancelPending cancels the request that a $/cancel_request names and reports whether it is one of ours.
func (h *Handler) cancelPending(req *jsonrpc2.Request) bool {
	if req.Params == nil {
		return false
	}
	var id jsonrpc2.ID
	if json.Unmarshal(readObject("", *req.Params).fields["requestId"], &id) != nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.pending[id]
	if c == nil {
		return false
	}
	c.cancel(errCancelRequest)
	return true
}

// Dispatch serves one request of any JSON-RPC library: a method, its params as they came, and the result to
// send or an error that ResponseError turns into a code, a message and data. It returns when the answer is
// there; for terminal/wait_for_exit that may be long, so call it in a goroutine of its own and read on. ctx
// bounds the request and never the command; end it for $/cancel_request and when the connection ends. When the
// connection has ended, call Close.
//
// A method that is not one of the five terminal/* methods is an *Error of kind ErrMethodNotFound, and one that
// was not advertised a *CapabilityError.
func (h *Handler) Dispatch(ctx context.Context, method string, params json.RawMessage) (result any, err error) {
	return h.admit(method, params)(ctx)
}

// admit does the part of a request that waits for nothing and has its place in the order of requests: it reads
// the params and finds the terminal. A release's id is dead from here on.
func (h *Handler) admit(method string, params json.RawMessage) service {
	fail := func(err error) service {
		return func(context.Context) (any, error) { return nil, err }
	}
	if !slices.Contains(methods, method) {
		return fail(methodNotFound(method))
	}
	if err := h.Capabilities().Require(method); err != nil {
		refused := err.(*CapabilityError)
		refused.SupportedMethods = append(refused.SupportedMethods, h.options.SupportedMethods...)
		return fail(refused)
	}
	if method == MethodCreate {
		var req CreateTerminalRequest
		if err := req.UnmarshalJSON(params); err != nil {
			return fail(err)
		}
		return func(ctx context.Context) (any, error) { return h.create(ctx, req) }
	}
	session, id, err := parseTerminalParams(params)
	if err != nil {
		return fail(err)
	}
	if method == MethodRelease {
		t, err := h.manager.beginRelease(session, id, EndedByRelease)
		if err == nil {
			h.forget(id)
		}
		return func(ctx context.Context) (any, error) {
			if t != nil {
				err = t.awaitRelease(ctx)
			}
			return ReleaseTerminalResponse{}, err
		}
	}
	t, err := h.manager.Terminal(session, id)
	if err != nil {
		return fail(err)
	}
	switch method {
	case MethodOutput:
		return func(context.Context) (any, error) { return t.Output(), nil }
	case MethodKill:
		e := t.beginKill()
		return func(ctx context.Context) (any, error) { return KillTerminalResponse{}, t.awaitKill(ctx, e) }
	default:
		return func(ctx context.Context) (any, error) {
			status, err := t.Wait(ctx)
			return WaitForTerminalExitResponse(status), err
		}
	}
}

func (h *Handler) create(ctx context.Context, req CreateTerminalRequest) (any, error) {
	t, err := h.manager.Create(ctx, req)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	closed := h.closed
	if !closed {
		// Those that the embedder released are not ours to keep.
		maps.DeleteFunc(h.terminals, func(_ TerminalID, old *Terminal) bool { return old.isRetired() })
		h.terminals[t.ID()] = t
	}
	h.mu.Unlock()
	if closed {
		h.manager.discard(t)
		return nil, &Error{Op: "create", Kind: ErrClosing, SessionID: req.SessionID}
	}
	if h.options.Created != nil {
		h.options.Created(t)
	}
	return CreateTerminalResponse{TerminalID: t.ID()}, nil
}

// forget takes a terminal off the list of those to release in the end.
func (h *Handler) forget(id TerminalID) *Terminal {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.terminals[id]
	delete(h.terminals, id)
	return t
}

// undo makes a create that was cancelled leave nothing.
func (h *Handler) undo(id TerminalID) {
	if t := h.forget(id); t != nil {
		h.manager.discard(t)
	}
}

// Close releases the terminals that were created through this handler, as Manager.Release does, and returns
// when they are gone; its error is that of the releases, joined. Pending requests are answered, if the agent
// still reads, and later ones refused with ErrClosing. jsonrpc2 need not be told: the end of its connection does
// it. A Close that comes later waits as well.
func (h *Handler) Close() error {
	h.mu.Lock()
	h.closed = true
	terminals := appendTerminals(nil, h.terminals)
	for _, c := range h.pending {
		c.cancel(nil)
	}
	h.mu.Unlock()
	return h.manager.releaseAll(context.Background(), terminals, EndedByRelease)
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
	SessionID  SessionID  `json:"sessionId,omitempty"`
	TerminalID TerminalID `json:"terminalId,omitempty"`
	Command    string     `json:"command,omitempty"`
	PIDs       []int      `json:"pids,omitempty"`
}

// ResponseError is an error as it goes out on the wire: a code, a message and data, which is an object that
// tells programs what is wrong. It takes any error; what is not of this package, and no *jsonrpc2.Error
// already, is an internal error.
func ResponseError(err error) *jsonrpc2.Error {
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
		Kind: e.Kind, Field: e.Field, Reason: e.Reason,
		SessionID: e.SessionID, TerminalID: e.TerminalID, Command: e.Command, PIDs: e.PIDs,
	}
	if e.Kind == ErrMethodNotFound {
		data.Method = e.Op
	}
	return responseError(code, e, data)
}

func responseError(code int64, err error, data any) *jsonrpc2.Error {
	e := &jsonrpc2.Error{Code: code, Message: err.Error()}
	e.SetError(data)
	return e
}
