package agent

// terminal/cancel: the client ends a command of the agent. tool_call/cancel: it cancels a tool call that Terminals.Run
// runs.

import (
	"context"
	"encoding/json"

	"github.com/acpterm/acpterm"
	"github.com/sourcegraph/jsonrpc2"
)

// Handler returns a handler that serves terminal/cancel on the Reporter's connection and passes all other messages to
// next. If next is nil, all other requests fail with -32601. The Reporter is connected when the handler receives its
// first message, which in ACP always comes from the client, and is closed when the connection ends. The handler does
// not block while serving terminal/cancel, even if the client is slow to read responses (see Cancel for the limit), so
// it is safe to call it on the goroutine that reads from the connection.
func (r *Reporter) Handler(next jsonrpc2.Handler) jsonrpc2.Handler { return &cancelHandler{r, next} }

type cancelHandler struct {
	reporter *Reporter
	next     jsonrpc2.Handler
}

// Handle implements jsonrpc2.Handler.
func (h *cancelHandler) Handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	h.reporter.connectTo(conn)
	switch {
	case req.Method != methodCancel:
		passOn(ctx, conn, req, h.next)
	case !req.Notif: // a notification has no answer
		var params json.RawMessage
		if req.Params != nil {
			params = *req.Params
		}
		h.reporter.Cancel(params, func(err error) {
			if err != nil {
				conn.ReplyWithError(context.Background(), req.ID, acpterm.ResponseError(err))
				return
			}
			conn.Reply(context.Background(), req.ID, struct{}{})
		})
	}
}

// passOn calls the next handler. If nil, passOn answers requests with -32601.
func passOn(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request, next jsonrpc2.Handler) {
	switch {
	case next != nil:
		next.Handle(ctx, conn, req)
	case !req.Notif:
		err := &acpterm.Error{Op: req.Method, Kind: acpterm.ErrMethodNotFound}
		conn.ReplyWithError(context.Background(), req.ID, acpterm.ResponseError(err))
	}
}

// Cancel handles terminal/cancel and can be used with any JSON-RPC library. It begins to terminate the command, as if
// by calling Terminal.Kill, and queues a call to answer. The goroutine that writes messages calls answer exactly once,
// before it reports that the command has exited. If the error passed to answer is nil, the caller should respond with
// an empty object. Otherwise, it should respond with the error as converted by acpterm.ResponseError. The code is
// -32602 if the terminal has ended, cannot be cancelled or is not being reported, or -32002 if
// ReporterOptions.KnowsSession rejects the session. Cancelling a command a second time kills it immediately.
//
// Cancel blocks only if there are already 64 responses that the client has not yet read.
func (r *Reporter) Cancel(params json.RawMessage, answer func(error)) {
	t, err := r.cancellable(params)
	r.queueAnswer(func() { answer(err) })
	if err == nil {
		ended, end := context.WithCancel(context.Background())
		end()
		t.Kill(ended) // begins to end the command, and does not wait
	}
}

// queueAnswer queues a call to answer. It blocks while there are maxAnswers in the queue.
func (r *Reporter) queueAnswer(answer func()) {
	select {
	case r.answers <- struct{}{}:
	case <-r.ctx.Done():
	}
	r.out.add(&cancelAnswer{r, answer})
}

// cancelAnswer is a response to terminal/cancel or tool_call/cancel.
type cancelAnswer struct {
	reporter *Reporter
	answer   func()
}

func (a *cancelAnswer) write() {
	a.answer()
	select {
	case <-a.reporter.answers:
	default: // the answer was added after the Reporter's end
	}
}

// cancellable returns the terminal named in the params of a terminal/cancel.
func (r *Reporter) cancellable(params json.RawMessage) (*acpterm.Terminal, error) {
	m := readMembers(&params)
	for _, field := range []string{"sessionId", "terminalId"} {
		if lenient[string](m, field) == nil {
			return nil, &acpterm.Error{
				Op: "cancel", Kind: acpterm.ErrInvalidParams, Field: field, Reason: "must be a string",
			}
		}
	}
	session := *lenient[acpterm.SessionID](m, "sessionId")
	id := *lenient[acpterm.TerminalID](m, "terminalId")
	if !r.knowsSession(session) {
		return nil, &acpterm.Error{Op: "cancel", Kind: acpterm.ErrSessionNotFound, SessionID: session}
	}
	r.mu.Lock()
	p := r.reports[terminalKey{session, id}]
	r.mu.Unlock()
	reason := ""
	switch {
	case p == nil:
		reason = "is unknown"
	case p.hasEnded():
		reason = "has ended"
	case !p.cancellable:
		reason = "is not cancellable"
	default:
		return p.terminal, nil
	}
	return nil, &acpterm.Error{
		Op: "cancel", Kind: acpterm.ErrInvalidParams, Field: "terminalId", Reason: reason,
		SessionID: session, TerminalID: id,
	}
}

// toolCallKey identifies a tool call. Its ids are unique only within a session.
type toolCallKey struct {
	session acpterm.SessionID
	id      string
}

// cancellable makes tool_call/cancel call cancel for a tool call, until forget is called.
func (ts *Terminals) cancellable(call ToolCall, cancel context.CancelFunc) (forget func()) {
	key := toolCallKey{call.Request.SessionID, call.ID}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.calls == nil {
		ts.calls = make(map[toolCallKey]*context.CancelFunc)
	}
	ts.calls[key] = &cancel
	return func() {
		ts.mu.Lock()
		defer ts.mu.Unlock()
		if ts.calls[key] == &cancel { // not that of a later call with the same id
			delete(ts.calls, key)
		}
	}
}

// cancelToolCall serves tool_call/cancel. It reports whether the request is about a tool call of Run; others belong to
// the agent's own handler. The answer is queued before the tool call is cancelled.
func (ts *Terminals) cancelToolCall(conn *jsonrpc2.Conn, req *jsonrpc2.Request) (served bool) {
	m := readMembers(req.Params)
	session, id := lenient[acpterm.SessionID](m, "sessionId"), lenient[string](m, "toolCallId")
	if session == nil || id == nil {
		return false
	}
	ts.mu.Lock()
	cancel := ts.calls[toolCallKey{*session, *id}]
	ts.mu.Unlock()
	if cancel == nil {
		return false
	}
	if !req.Notif { // a notification has no answer
		ts.reporter.queueAnswer(func() { conn.Reply(context.Background(), req.ID, struct{}{}) })
	}
	(*cancel)()
	return true
}

// refuseToolCall answers a tool_call/cancel that neither Run nor a handler knows about.
func refuseToolCall(conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	m := readMembers(req.Params)
	e := &acpterm.Error{Op: "cancel", Kind: acpterm.ErrInvalidParams, Field: "toolCallId", Reason: "is unknown"}
	for _, field := range []string{"toolCallId", "sessionId"} {
		if lenient[string](m, field) == nil {
			e.Field, e.Reason = field, "must be a string"
		}
	}
	conn.ReplyWithError(context.Background(), req.ID, acpterm.ResponseError(e))
}
