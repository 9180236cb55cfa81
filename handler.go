package acpterm

// The Handler: its terminals, its sessions' ids, and errors as JSON-RPC sends them. calls.go answers the requests. Only
// these two files, filter.go, options.go, internal/wire and internal/requests use JSON-RPC types.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm/internal/latch"
	"github.com/acpterm/acpterm/internal/notify"
	"github.com/acpterm/acpterm/internal/requests"
	"github.com/acpterm/acpterm/internal/wire"
)

// Error codes that ACP adds to those of JSON-RPC (schema type ErrorCode).
const (
	codeResourceNotFound = -32002
	codeRequestCancelled = -32800
)

// codes maps kinds of errors to JSON-RPC codes. All others are internal errors.
var codes = map[Kind]int64{
	ErrMethodNotFound:   jsonrpc2.CodeMethodNotFound,
	ErrInvalidParams:    jsonrpc2.CodeInvalidParams,
	ErrNotExecutable:    jsonrpc2.CodeInvalidParams,
	ErrCommandNotFound:  codeResourceNotFound,
	ErrTerminalNotFound: codeResourceNotFound,
	ErrCancelled:        codeRequestCancelled,
	ErrDenied:           jsonrpc2.CodeInvalidParams,
	ErrSessionNotFound:  codeResourceNotFound,
	ErrQuota:            codeRequestCancelled,
	ErrClosing:          codeRequestCancelled,
}

// A Handler responds to the terminal/* requests of a connection, using a Manager to run the commands. It can be used
// with any JSON-RPC library by calling Filter, as a jsonrpc2.Handler, or by calling Dispatch for each request.
// Terminals created through the Handler are released when the Handler or the connection is closed, unless KeepOnClose
// is set. Output that does not fit in a line of 32 MiB is truncated at the beginning. A Handler is safe for concurrent
// use by multiple goroutines.
type Handler struct {
	manager  *Manager
	options  HandlerOptions
	outputs  wire.Cache
	requests *requests.Table
	polls    notify.Queue[func()] // terminal/output requests, which are answered in their order

	connected sync.Once      // closeAfter was called
	closing   latch.Latch    // Close was called; set under mu
	creates   sync.WaitGroup // creates and take-overs; none begins once closing is set

	mu          sync.Mutex
	createBytes int                     // reserved by creates without an answer
	terminals   map[*Terminal]*tracking // created through this handler, or taken over, and not gone
}

// tracking belongs to a terminal of a Handler. Handler.mu guards it.
type tracking struct {
	answered bool        // the create has succeeded, or the terminal was taken over
	stop     func() bool // no longer waits for the release to untrack the terminal; set before Close uses it
}

// NewHandler returns a new Handler for a single connection. The Handler uses m to run commands. NewHandler makes a copy
// of options, and uses the defaults if options is nil. If m is nil, all terminal requests fail with ErrInternal.
func NewHandler(m *Manager, options *HandlerOptions) *Handler {
	h := &Handler{
		manager:   m,
		terminals: make(map[*Terminal]*tracking),
	}
	if options != nil {
		h.options = *options
		h.options.Capabilities = copyOf(options.Capabilities)
	}
	h.requests = requests.New(h.options.maxPending())
	h.polls.Observe(func(answer func()) { answer() })
	return h
}

// Capabilities returns the clientCapabilities to include in initialize. Any request that they do not cover is rejected.
func (h *Handler) Capabilities() ClientCapabilities {
	return *cmp.Or(h.options.Capabilities, &ClientCapabilities{Terminal: true})
}

// Handle implements jsonrpc2.Handler. It returns immediately and sends its reply later. Requests are served
// concurrently, except that terminal/output requests are answered in the order they were received. Notifications for
// terminal/* are ignored. The Handler is closed when conn is closed. Most callers should use Filter instead, since it
// does less copying and can recover from invalid lines.
//
// Policies and hooks receive the values of ctx, but cancelling ctx has no effect. A request is cancelled by
// $/cancel_request, by calling Close, or by closing the connection. Handle only blocks if a request is refused because
// of MaxPending or Close. In that case, it blocks until the agent reads the reply.
func (h *Handler) Handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	h.closeAfter(conn)
	switch {
	case req.Method == wire.MethodCancelRequest && req.Notif && h.cancelPending(paramsOf(req)):
	case h.options.Next != nil && !slices.Contains(methods, req.Method):
		h.options.Next.Handle(ctx, conn, req)
	case !req.Notif:
		c := &call{Request: requests.Request{ID: req.ID}, method: req.Method, to: viaJSONRPC2{conn, req.ID}}
		h.serve(context.WithoutCancel(ctx), c, paramsOf(req))
	}
}

func paramsOf(req *jsonrpc2.Request) []byte {
	if req.Params == nil {
		return nil
	}
	return *req.Params
}

func (h *Handler) closeAfter(conn *jsonrpc2.Conn) {
	h.connected.Do(func() {
		go func() {
			select {
			case <-conn.DisconnectNotify():
			case <-h.closing.Done():
			}
			h.Close()
		}()
	})
}

// Dispatch serves a single request received by any JSON-RPC library, given its method and unmodified params. It returns
// the result, or an error that can be passed to ResponseError. If method is not a terminal method, it returns
// ErrMethodNotFound, and if terminals were not advertised, it returns a *CapabilityError. Since Dispatch blocks until
// the result is known, which can take a long time for terminal/wait_for_exit, it should be called in its own goroutine.
//
// The provided context applies to the request but never to the command. Cancel it when $/cancel_request is received and
// when the connection is closed. In the latter case, call Close afterward.
func (h *Handler) Dispatch(ctx context.Context, method string, params json.RawMessage) (result any, err error) {
	defer func() { err = h.toWireError(err) }()
	switch w := h.prepare(method, params).(type) {
	case known:
		return w.result, w.err
	case start:
		return h.create(ctx, w, func() error { return nil })
	case poll:
		return w.terminal.outputThatFits(), nil
	case await:
		var closing <-chan struct{} // nil if Close releases the terminal, which ends the wait
		if h.options.KeepOnClose > 0 {
			closing = h.closing.Done()
		}
		select {
		case <-w.done.Done():
			return w.result()
		case <-closing:
			return nil, &Error{Op: method, Kind: ErrCancelled, Err: ErrClosing}
		case <-ctx.Done():
			return nil, &Error{Op: method, Kind: ErrCancelled, Err: context.Cause(ctx)}
		}
	}
	panic("acpterm: a request without work")
}

// Close cancels pending calls to Create and releases all terminals created through the Handler or taken over by it. It
// waits for Manager.Release and returns any errors, joined together. Pending requests still receive a response if the
// agent is reading, but new requests fail with ErrClosing. Closing the connection also calls Close. Subsequent calls
// also wait. Terminals kept because of HandlerOptions.KeepOnClose are not waited for. When Close returns, they can be
// taken over.
func (h *Handler) Close() error {
	h.mu.Lock()
	h.closing.Set()
	h.mu.Unlock()
	h.requests.Close(ErrClosing)
	h.creates.Wait()
	h.mu.Lock()
	h.keepLocked()
	terminals := slices.Collect(maps.Keys(h.terminals))
	h.mu.Unlock()
	if len(terminals) == 0 {
		return nil
	}
	return h.manager.releaseAll(context.Background(), terminals)
}

// ResponseError converts err to a JSON-RPC error whose data describes err in machine-readable form. A *jsonrpc2.Error
// is returned unchanged, and any other error from outside this package becomes an internal error. Text longer than 2
// KiB is truncated. Note that if err is nil, the result is a nil pointer, which is non-nil when stored in an error.
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
	e = e.cut()
	code, ok := codes[e.Kind]
	if !ok {
		code = jsonrpc2.CodeInternalError
	}
	data := struct {
		*Error
		Method string `json:"method,omitempty"`
	}{Error: e}
	if e.Kind == ErrMethodNotFound {
		data.Method = e.Op
	}
	return responseError(code, e, data)
}

func invalidMessage(f *wire.Fault) *jsonrpc2.Error {
	e := &Error{Kind: errInvalidMessage, Reason: "the line " + f.Reason}
	return responseError(f.Code, e, e)
}

func responseError(code int64, err error, data any) *jsonrpc2.Error {
	e := &jsonrpc2.Error{Code: code, Message: cutText(err.Error())}
	e.SetError(data)
	return e
}
