package agent

// terminal/cancel: the client ends a command of the agent.

import (
	"context"
	"encoding/json"

	"github.com/acpterm/acpterm"
	"github.com/sourcegraph/jsonrpc2"
)

// Handler returns a handler that serves terminal/cancel on the Reporter's connection and passes all other messages to
// next. If next is nil, other requests are answered with -32601. The first message, which in ACP always comes from the
// client, connects the Reporter, which is closed when the connection ends. The handler does not block if the client is
// slow to read its responses, so it is safe to call it on the goroutine reading from the connection.
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
			conn.Reply(context.Background(), req.ID, acpterm.EmptyResponse{})
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

// Cancel handles terminal/cancel for any JSON-RPC library. It starts terminating the command, like Terminal.Kill, and
// queues a call to answer, which the writing goroutine makes once, before it reports the exit. If answer is passed a
// nil error, respond with an empty object. Otherwise, use acpterm.ResponseError. The code is -32602 if the terminal has
// ended, cannot be cancelled or is not being reported, and -32002 if ReporterOptions.KnowsSession rejects the session.
// Cancelling a command again kills it immediately.
//
// Cancel does not block unless 64 responses are still waiting to be read by the client.
func (r *Reporter) Cancel(params json.RawMessage, answer func(error)) {
	t, err := r.cancellable(params)
	select {
	case r.answers <- struct{}{}:
	case <-r.ctx.Done():
	}
	r.out.add(&cancelAnswer{r, func() { answer(err) }})
	if err == nil {
		ended, end := context.WithCancel(context.Background())
		end()
		t.Kill(ended) // begins to end the command, and does not wait
	}
}

// cancelAnswer is a response to terminal/cancel.
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
