package agentterm

// Tool calls that the client can cancel, and the work in the background (ACP v2).

import (
	"context"
	"encoding/json"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agentterm/internal/updates"
)

// MethodCancelToolCall is a request that the client sends in ACP v2 to cancel a tool call (schema type
// CancelToolCallRequest).
const MethodCancelToolCall = "tool_call/cancel"

// maxToolCalls is the number of tool calls that can be cancelled at the same time.
const maxToolCalls = 4096

// A ToolCallRequest holds the params of MethodCancelToolCall.
type ToolCallRequest struct {
	SessionID  acpterm.SessionID `json:"sessionId"`
	ToolCallID string            `json:"toolCallId"`
}

// CancelToolCall asks the agent to cancel a tool call, and returns once the agent has accepted the request or ctx is
// done. The tool call ends later, with a tool_call_update. If the agent does not currently allow the client to cancel
// the tool call, or cannot be asked, CancelToolCall returns acpterm.ErrNotCancellable without sending anything. If the
// agent sends an error, CancelToolCall returns it as a *jsonrpc2.Error. Errors of Options.CancelToolCall are unchanged.
func (ts *Terminals) CancelToolCall(ctx context.Context, request ToolCallRequest) error {
	if !ts.CanCancelToolCall(request) {
		return &acpterm.Error{
			Op: MethodCancelToolCall, Kind: acpterm.ErrNotCancellable, SessionID: request.SessionID,
		}
	}
	if ts.options.CancelToolCall != nil {
		return ts.options.CancelToolCall(ctx, request)
	}
	return ts.conn.Load().Call(ctx, MethodCancelToolCall, request, nil)
}

// CanCancelToolCall reports whether CancelToolCall would send a request. Call it after each Update to decide whether to
// show a button.
func (ts *Terminals) CanCancelToolCall(request ToolCallRequest) bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.toolCalls[request] && (ts.options.CancelToolCall != nil || ts.conn.Load() != nil)
}

// updateToolCall notes whether a tool call can be cancelled.
func (ts *Terminals) updateToolCall(request ToolCallRequest, cancel bool) error {
	for field, id := range map[string]string{"sessionId": string(request.SessionID), "toolCallId": request.ToolCallID} {
		if cancel && (id == "" || len(id) > maxID) {
			return invalid(request.SessionID[:min(len(request.SessionID), maxID)], field, "empty or too long")
		}
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if !cancel {
		delete(ts.toolCalls, request)
		return nil
	}
	for old := range ts.toolCalls {
		if len(ts.toolCalls) < maxToolCalls {
			break
		}
		delete(ts.toolCalls, old) // any: some agents never report the end of a tool call
	}
	ts.toolCalls[request] = true
	return nil
}

// Work is an item of the work that an agent does in the background (schema type BackgroundWork of ACP v2). It runs
// independently of the session's turn.
type Work struct {
	// Type is "terminal" for a command, "tool_call" for a tool call, or the type of another kind of work.
	Type string
	// TerminalID is set if Type is "terminal". The terminal is normally one of the Manager's.
	TerminalID acpterm.TerminalID
	// ToolCallID is set if Type is "tool_call".
	ToolCallID string
	// Raw is the item as JSON. It must not be modified.
	Raw json.RawMessage
}

// reportBackground calls Options.Background.
func (ts *Terminals) reportBackground(session acpterm.SessionID, all []updates.Work) {
	work := make([]Work, 0, len(all))
	for _, w := range all {
		work = append(work, Work{w.Type, acpterm.TerminalID(w.Terminal), w.ToolCallID, w.Raw})
	}
	ts.options.Background(session, work)
}
