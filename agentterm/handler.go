package agentterm

// Support for connections of jsonrpc2.

import (
	"context"
	"errors"
	"log/slog"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm"
)

// Handler returns a handler that passes each message on to next. If the message is a session/update, the handler calls
// Update before passing it on, and logs any update that cannot be used. If Options.Cancel is not set, Kill sends its
// request to the agent over the handler's connection.
func (ts *Terminals) Handler(next jsonrpc2.Handler) jsonrpc2.Handler { return handler{ts, next} }

type handler struct {
	terminals *Terminals
	next      jsonrpc2.Handler
}

func (h handler) Handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	h.terminals.conn.Store(conn)
	if req.Method == MethodUpdate && req.Notif && req.Params != nil {
		if _, err := h.terminals.Update(*req.Params); err != nil {
			slog.Warn("agentterm: an agent's update of a terminal cannot be used", "error", err)
		}
	}
	h.next.Handle(ctx, conn, req)
}

// canAsk reports whether the agent can be asked to end a command.
func (ts *Terminals) canAsk() bool { return ts.options.Cancel != nil || ts.conn.Load() != nil }

// cancel asks the agent to end a terminal's command.
func (ts *Terminals) cancel(ctx context.Context, k key) error {
	request := acpterm.TerminalRequest{SessionID: k.session, TerminalID: k.id}
	if ts.options.Cancel != nil {
		return ts.options.Cancel(ctx, request)
	}
	conn := ts.conn.Load()
	if conn == nil {
		return errors.New("there is no connection to the agent")
	}
	return conn.Call(ctx, MethodCancel, request, nil)
}
