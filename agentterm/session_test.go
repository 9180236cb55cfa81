package agentterm_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agentterm"
	"github.com/acpterm/acpterm/internal/hosttest"
)

// toolCall returns an update of the tool call "c".
func toolCall(members string) json.RawMessage {
	return json.RawMessage(`{"sessionUpdate":"tool_call_update","toolCallId":"c"` + members + `}`)
}

const mayCancel = `,"capabilities":{"cancel":{}}`

// A tool call can be cancelled exactly while the agent advertises it.
func TestCancelToolCallOnlyWhileAdvertised(t *testing.T) {
	var asked []agentterm.ToolCallRequest
	ts := agentterm.New(acpterm.NewHandler(hosttest.NewManager(t, nil), nil), &agentterm.Options{
		CancelToolCall: func(_ context.Context, r agentterm.ToolCallRequest) error {
			asked = append(asked, r)
			return io.ErrUnexpectedEOF
		},
	})
	request := agentterm.ToolCallRequest{SessionID: "s", ToolCallID: "c"}
	refused := func() {
		t.Helper()
		require.False(t, ts.CanCancelToolCall(request))
		require.ErrorIs(t, ts.CancelToolCall(t.Context(), request), acpterm.ErrNotCancellable)
		require.Empty(t, asked)
	}
	refused()
	for _, no := range []string{
		``, `,"status":"completed"`, `,"status":"failed"`, `,"status":"cancelled"` + mayCancel, `,"capabilities":null`,
		`,"capabilities":{}`, `,"capabilities":7`, `,"capabilities":{"cancel":null}`, `,"capabilities":{"cancel":true}`,
		`,"capabilities":{"Cancel":{}}`,
	} {
		if no != `` { // which changes nothing
			sendUpdates(t, ts, toolCall(mayCancel))
			require.True(t, ts.CanCancelToolCall(request))
		}
		sendUpdates(t, ts, toolCall(no))
		refused()
	}
	sendUpdates(t, ts, toolCall(mayCancel), toolCall(``), toolCall(`,"status":"paused"`))
	require.False(t, ts.CanCancelToolCall(agentterm.ToolCallRequest{SessionID: "other", ToolCallID: "c"}))
	require.Equal(t, io.ErrUnexpectedEOF, ts.CancelToolCall(t.Context(), request))
	require.Equal(t, []agentterm.ToolCallRequest{request}, asked)
}

// An agent cannot make the client keep much.
func TestToolCallsAreBounded(t *testing.T) {
	ts := agentterm.New(acpterm.NewHandler(hosttest.NewManager(t, nil), nil), &agentterm.Options{
		CancelToolCall: func(context.Context, agentterm.ToolCallRequest) error { return nil },
	})
	for _, params := range []string{
		`{"update":` + string(toolCall(mayCancel)) + `}`,
		`{"sessionId":"` + strings.Repeat("s", 2000) + `","update":` + string(toolCall(mayCancel)) + `}`,
		strings.ReplaceAll(`{"sessionId":"s","update":`+string(toolCall(mayCancel))+`}`, `"c"`, `"`+strings.Repeat("c", 2000)+`"`),
	} {
		_, err := ts.Update(json.RawMessage(params))
		require.ErrorIs(t, err, acpterm.ErrInvalidParams, params)
	}
	canCancel := func(i int) bool {
		return ts.CanCancelToolCall(agentterm.ToolCallRequest{SessionID: "s", ToolCallID: fmt.Sprint(i)})
	}
	for i := range 5000 {
		sendUpdates(t, ts, json.RawMessage(fmt.Sprintf(
			`{"sessionUpdate":"tool_call_update","toolCallId":"%d"%s}`, i, mayCancel)))
		require.True(t, canCancel(i))
	}
	known := 0
	for i := range 5000 {
		if canCancel(i) {
			known++
		}
	}
	require.Equal(t, 4096, known)
}

func TestCancelToolCallOverAConnection(t *testing.T) {
	a, ts, messages, requests := connect(t, hosttest.NewManager(t, nil), acpterm.HandlerOptions{},
		&jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: "is final"})
	request := agentterm.ToolCallRequest{SessionID: "s", ToolCallID: "c"}
	require.ErrorIs(t, ts.CancelToolCall(t.Context(), request), acpterm.ErrNotCancellable)
	require.NoError(t, a.Notify(t.Context(), agentterm.MethodUpdate,
		map[string]any{"sessionId": "s", "update": toolCall(mayCancel)}))
	<-messages
	var e *jsonrpc2.Error
	require.ErrorAs(t, ts.CancelToolCall(t.Context(), request), &e)
	require.EqualValues(t, jsonrpc2.CodeInvalidParams, e.Code)
	require.Equal(t, `tool_call/cancel{"sessionId":"s","toolCallId":"c"}`, <-requests)
}

// The host learns each list, in order. What is not a list is not reported.
func TestBackground(t *testing.T) {
	type reported struct {
		session acpterm.SessionID
		work    []agentterm.Work
	}
	var all []reported
	ts := agentterm.New(acpterm.NewHandler(hosttest.NewManager(t, nil), nil), &agentterm.Options{
		Background: func(session acpterm.SessionID, work []agentterm.Work) { all = append(all, reported{session, work}) },
	})
	state := func(state, background string) {
		t.Helper()
		sendUpdates(t, ts, json.RawMessage(`{"sessionUpdate":"state_update","state":"`+state+`","background":`+background+`}`))
	}
	sendUpdates(t, ts, json.RawMessage(`{"sessionUpdate":"state_update","state":"running"}`),
		json.RawMessage(`{"sessionUpdate":"usage_update","background":[]}`))
	for _, unreported := range []string{
		`null`, `{}`, `7`, `[7]`, `[{}]`, `[null]`, `[{"type":7}]`, `[{"type":"terminal"}]`, `[{"type":"tool_call","terminalId":"t"}]`,
		`[{"type":"terminal","terminalId":"t"},{"type":"terminal","terminalId":""}]`,
	} {
		state("idle", unreported)
	}
	require.Empty(t, all)

	const terminal, call, other = `{"type":"terminal","terminalId":"t","_meta":{}}`, `{"type":"tool_call","toolCallId":"c"}`,
		`{"type":"_mine","terminalId":"x"}`
	state("idle", `[`+terminal+`,`+call+`,`+other+`]`)
	state("_busy", `[]`)
	require.Equal(t, []reported{
		{"s", []agentterm.Work{
			{Type: "terminal", TerminalID: "t", Raw: json.RawMessage(terminal)},
			{Type: "tool_call", ToolCallID: "c", Raw: json.RawMessage(call)},
			{Type: "_mine", Raw: json.RawMessage(other)},
		}},
		{"s", []agentterm.Work{}},
	}, all)

	_, err := ts.Update(json.RawMessage(`{"update":{"sessionUpdate":"state_update","state":"idle","background":[]}}`))
	require.ErrorIs(t, err, acpterm.ErrInvalidParams)
	require.Len(t, all, 2)
}
