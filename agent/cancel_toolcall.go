package agent

// tool_call/cancel: the client cancels a tool call that Terminals.Run runs.

import (
	"context"

	"github.com/acpterm/acpterm"
	"github.com/sourcegraph/jsonrpc2"
)

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
