package main

// What the client keeps of texts that may be of any size.

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/agentterm"
	"github.com/acpterm/acpterm/internal/leaktest"
)

// Of tool calls, however many and long, the client keeps what it shows of the newest.
func TestLargeToolCallsAreNotKept(t *testing.T) {
	s := newSession(newScreen(io.Discard, io.Discard, false, func(err error) { t.Error(err) }))
	before := leaktest.HeapInUse()
	large := strings.Repeat("x", 128<<10)
	send := func(update map[string]any) {
		update["sessionUpdate"] = "tool_call"
		params, err := json.Marshal(map[string]any{"sessionId": "s", "update": update})
		require.NoError(t, err)
		s.Handle(t.Context(), nil, &jsonrpc2.Request{Method: "session/update", Notif: true, Params: (*json.RawMessage)(&params)})
	}
	for i := range 5 {
		terminal := map[string]any{"type": "terminal", "terminalId": fmt.Sprint(large, i)}
		send(map[string]any{
			"toolCallId": fmt.Sprint("title ", i), "title": fmt.Sprint(i, " ", large), "status": large,
			"content": []any{terminal, terminal},
		})
		send(map[string]any{"toolCallId": fmt.Sprint(large, i), "title": large})
	}
	for i := range 5000 {
		send(map[string]any{"toolCallId": fmt.Sprint("short ", i), "title": "short", "status": "in_progress"})
	}
	large = ""
	require.Less(t, leaktest.HeapInUse()-before, int64(2<<20))
	runtime.KeepAlive(s)
}

// A tool call that goes on keeps its title while others end.
func TestFinishedToolCallsAreForgottenFirst(t *testing.T) {
	var out strings.Builder
	s := newSession(newScreen(&out, &out, false, func(err error) { t.Error(err) }))
	add := func(update toolCallUpdate) { s.showToolCall(s.addToolCall(update)) }
	add(toolCallUpdate{ToolCallID: "long", Title: "Goes on", Status: "in_progress"})
	for i := range 2 * mostToolCalls {
		add(toolCallUpdate{ToolCallID: fmt.Sprint(i), Title: "Short", Status: "completed"})
	}
	out.Reset()
	add(toolCallUpdate{ToolCallID: "long", Status: "completed"})
	require.Equal(t, `* "Goes on" (completed)`+"\n", out.String())
}

// What waits for the user's answer is bounded, also if it comes in many pieces.
func TestHeldPiecesAreBounded(t *testing.T) {
	s := newScreen(io.Discard, &strings.Builder{}, false, func(err error) { t.Error(err) })
	before := leaktest.HeapInUse()
	s.hold()
	for i := range 1 << 18 {
		s.print("> ", "x")
		if i%2 == 0 {
			s.printError("")
		}
	}
	require.Less(t, leaktest.HeapInUse()-before, int64(3<<20))
	s.resume()
}

// Names of terminals are known for as long as an agent may reasonably use them.
func TestNamesOfTerminalsAreBounded(t *testing.T) {
	s := newScreen(io.Discard, io.Discard, false, func(err error) { t.Error(err) })
	m := acptermtest.NewManager(t, nil)
	h := acpterm.NewHandler(m, &acpterm.HandlerOptions{Created: func(t *acpterm.Terminal) { s.addName(t) }})
	terminals := agentterm.New(h, nil)
	for i := range mostNames + 10 {
		_, err := terminals.Update(fmt.Appendf(nil, `{"sessionId":"s","update":{"sessionUpdate":"terminal_update",`+
			`"terminalId":"t%d","exitStatus":{"exitCode":0}}}`, i))
		require.NoError(t, err)
		require.NoError(t, m.Release(t.Context(), "s", acpterm.TerminalID(fmt.Sprint("t", i))))
	}
	require.Len(t, s.names, mostNames)
	require.Equal(t, "[unknown terminal]", s.name("t9"))
	require.Equal(t, "[agent 11]", s.name("t10"))
}
