package agent_test

// tool_call/cancel: its answers, and the end of the tool call.

import (
	"context"
	"encoding/json"
	"net"
	"testing"
	"testing/synctest"

	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agent"
)

// A cancelled tool call ends its command and has the status cancelled. Requests about other tool calls, and about those
// that have ended, go to the agent's own handler.
func TestCancelOfAToolCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newToolClient(t, "v2", nil)
		cancel := func(params string) (answer string) {
			var raw json.RawMessage
			require.NoError(t, c.client.Call(t.Context(), "tool_call/cancel", json.RawMessage(params), &raw))
			return string(raw)
		}
		const passedOn, params = `null`, `{"sessionId":"s","toolCallId":"call-1","_meta":{}}`
		require.Equal(t, passedOn, cancel(params))
		var err error
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, err = c.run(t.Context(), "block", 0)
		}()
		synctest.Wait()
		for _, other := range []string{
			`{"sessionId":"other","toolCallId":"call-1"}`, `{"sessionId":"s","toolCallId":"call-2"}`, `[]`,
			`{"sessionId":"s","toolcallid":"call-1"}`, `{"sessionId":"s","toolCallId":["call-1"]}`,
		} {
			require.Equal(t, passedOn, cancel(other))
		}
		synctest.Wait()
		require.Len(t, c.manager.Terminals(), 1)

		require.JSONEq(t, `{}`, cancel(params))
		recordMessage(t, "CancelToolCallRequest", []byte(params))
		recordMessage(t, "CancelToolCallResponse", []byte(`{}`))
		<-ended
		require.ErrorIs(t, err, acpterm.ErrCancelled)
		status, _ := c.shown()
		require.Equal(t, "cancelled", status)
		require.Empty(t, c.manager.Terminals())
		require.JSONEq(t, `{"sessionUpdate":"tool_call_update","toolCallId":"call-1","status":"cancelled","capabilities":null}`,
			c.updates[len(c.updates)-1])
		require.Equal(t, passedOn, cancel(params), "it has ended")
	})
}

// Clients of v1 do not know the method.
func TestCancelOfAToolCallInV1(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newToolClient(t, "delta", nil)
		ctx, cancel := context.WithCancel(t.Context())
		go c.run(ctx, "block", 0)
		synctest.Wait()
		var answer json.RawMessage
		params := json.RawMessage(`{"sessionId":"s","toolCallId":"call-1"}`)
		require.NoError(t, c.client.Call(t.Context(), "tool_call/cancel", params, &answer))
		require.Equal(t, `null`, string(answer))
		require.Len(t, c.manager.Terminals(), 1)
		cancel()
		synctest.Wait()
	})
}

func TestRefusedCancelsOfToolCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clientEnd, agentEnd := net.Pipe()
		conn := jsonrpc2.NewConn(context.Background(), jsonrpc2.NewPlainObjectStream(agentEnd), agent.NewTerminals(nil, nil).Handler(nil))
		client := jsonrpc2.NewConn(context.Background(), jsonrpc2.NewPlainObjectStream(clientEnd), initialized)
		for params, want := range map[string][2]string{
			`{"sessionId":"s","toolCallId":"call-1"}`: {"toolCallId", "is unknown"},
			`{"sessionId":"s"}`:                       {"toolCallId", "must be a string"},
			`{"toolCallId":7}`:                        {"sessionId", "must be a string"},
		} {
			var e *jsonrpc2.Error
			require.ErrorAs(t, client.Call(t.Context(), "tool_call/cancel", json.RawMessage(params), nil), &e)
			require.EqualValues(t, jsonrpc2.CodeInvalidParams, e.Code)
			data := decode[map[string]any](t, *e.Data)
			require.Equal(t, []any{want[0], want[1]}, []any{data["field"], data["reason"]})
		}
		client.Close()
		conn.Close()
		synctest.Wait()
	})
}
