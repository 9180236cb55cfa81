package agent_test

// terminal/cancel and tool_call/cancel: their answers, the order relative to the end, and how the command ends.

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/agent"
	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"
)

// cancel sends a terminal/cancel to a Reporter and returns its answer.
func cancel(t *testing.T, r *agent.Reporter, params string) error {
	answer := make(chan error)
	r.Cancel(json.RawMessage(params), func(err error) { answer <- err })
	err := <-answer
	def, encoded := "CancelTerminalResponse", []byte(`{}`)
	if err != nil {
		def = "Error"
		encoded, _ = json.Marshal(acpterm.ResponseError(err))
	}
	recordMessage(t, def, encoded)
	synctest.Wait()
	return err
}

func TestRefusedCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMirror(t)
		_, r := newLink(m, &agent.ReporterOptions{KnowsSession: func(id acpterm.SessionID) bool { return id != "gone" }})
		ended, running, own := newReported(t, 10), newReported(t, 10), newReported(t, 10)
		r.Report(ended.Terminal, nil)
		r.Report(running.Terminal, &agent.ReportOptions{NotCancellable: true})
		close(ended.pieces)
		synctest.Wait()
		require.False(t, m.terminal(running.ID()).cancellable)
		for _, c := range []struct {
			params string
			code   int64
			field  string
			reason string
		}{
			{``, -32602, "sessionId", "must be a string"},
			{`[]`, -32602, "sessionId", "must be a string"},
			{`{"terminalId":"t"}`, -32602, "sessionId", "must be a string"},
			{`{"sessionId":"s","terminalId":7}`, -32602, "terminalId", "must be a string"},
			{`{"sessionId":"s","terminalid":"t"}`, -32602, "terminalId", "must be a string"},
			{`{"sessionId":"s","terminalId":"t"}`, -32602, "terminalId", "is unknown"},
			{`{"sessionId":"other","terminalId":"` + string(ended.ID()) + `"}`, -32602, "terminalId", "is unknown"},
			{`{"sessionId":"s","terminalId":"` + string(own.ID()) + `"}`, -32602, "terminalId", "is unknown"},
			{`{"sessionId":"s","terminalId":"` + string(ended.ID()) + `"}`, -32602, "terminalId", "has ended"},
			{`{"sessionId":"s","terminalId":"` + string(running.ID()) + `"}`, -32602, "terminalId", "is not cancellable"},
			{`{"sessionId":"gone","terminalId":"t"}`, -32002, "", ""},
		} {
			refused := acpterm.ResponseError(cancel(t, r, c.params))
			require.NotNil(t, refused, c.params)
			require.Equal(t, c.code, refused.Code, c.params)
			data := decode[map[string]any](t, *refused.Data)
			if c.code == -32002 {
				require.Equal(t, "gone", data["sessionId"])
				recordMessage(t, "SessionNotFoundErrorData", *refused.Data)
				continue
			}
			require.Equal(t, []any{c.field, c.reason}, []any{data["field"], data["reason"]}, c.params)
		}
		require.Equal(t, acpterm.StateRunning, running.State())
		require.Equal(t, acpterm.StateRunning, own.State())
		ended.release(t)
		require.ErrorContains(t, cancel(t, r, `{"sessionId":"s","terminalId":"`+string(ended.ID())+`"}`), "is unknown")
		r.Close()
	})
}

// A cancel ends the command step by step. A second one ends it immediately.
func TestCancelEndsTheCommand(t *testing.T) {
	for _, twice := range []bool{false, true} {
		reporting(t, 10, func(t *testing.T, l *link, r *agent.Reporter, term *reported) {
			r.Report(term.Terminal, nil)
			synctest.Wait()
			require.True(t, l.mirror.terminal(term.ID()).cancellable)
			params := `{"sessionId":"s","terminalId":"` + string(term.ID()) + `","_meta":{}}`
			begin := time.Now()
			require.NoError(t, cancel(t, r, params))
			require.Equal(t, acpterm.StateRunning, term.State(), "it ignores the first signal")
			takes := 5 * time.Second
			if twice {
				require.NoError(t, cancel(t, r, params))
				takes = 0
			}
			_, err := term.Wait(t.Context())
			require.NoError(t, err)
			require.Equal(t, takes, time.Since(begin))
			require.Equal(t, acpterm.EndedByKill, term.EndedBy())
			synctest.Wait()
			got := l.mirror.terminal(term.ID())
			require.Equal(t, "signal SIGKILL", got.exit.String())
			require.JSONEq(t, `{"endedBy":"killed"}`, string(got.exit.Meta["acpterm"]))
			require.False(t, got.cancellable)
			require.Len(t, term.manager.SessionTerminals("s"), 1, "it is not released")
		})
	}
}

// connected is an agent with a Reporter and a client, connected by a pipe.
type connected struct {
	client   *jsonrpc2.Conn
	reporter *agent.Reporter
	mirror   *mirror

	mu    sync.Mutex
	order []string // the messages that the client has read
}

// newConnected connects an agent and a client. next is the agent's handler of other methods.
func newConnected(t *testing.T, next jsonrpc2.Handler) *connected {
	c := &connected{mirror: newMirror(t), reporter: agent.NewReporter(nil)}
	t.Cleanup(c.reporter.Close)
	_, c.client = connect(t, c.reporter.Handler(next), c,
		jsonrpc2.OnRecv(func(_ *jsonrpc2.Request, answer *jsonrpc2.Response) {
			if answer != nil {
				c.note("answer")
			}
		}))
	return c
}

func (c *connected) note(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.order = append(c.order, what)
}

func (c *connected) Handle(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) {
	recordMessage(c.mirror.t, "UpdateSessionNotification", *req.Params)
	c.mirror.apply(*req.Params)
	c.note("update")
}

// The answer comes before the end, even if the command ends immediately.
func TestCancelIsAnsweredFirst(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			m := acptermtest.NewManager(t, &acpterm.Options{Runner: acptermtest.Commands{"make": acptermtest.Block}})
			term, err := m.Create(t.Context(), request, nil)
			require.NoError(t, err)
			c := newConnected(t, nil)
			c.reporter.Report(term, nil)
			synctest.Wait()
			var answer json.RawMessage
			params := acpterm.TerminalRequest{SessionID: "s", TerminalID: term.ID()}
			require.NoError(t, c.client.Call(t.Context(), "terminal/cancel", params, &answer))
			require.JSONEq(t, `{}`, string(answer))
			synctest.Wait()
			require.Equal(t, []string{"update", "answer", "update"}, c.order)
			require.Equal(t, "signal SIGTERM", c.mirror.terminal(term.ID()).exit.String())
		})
	}
}

// A cancel ends the command even if the client does not read the answer. The client then reads the answer before the
// end.
func TestCancelDoesNotWaitForItsAnswer(t *testing.T) {
	reporting(t, 10, func(t *testing.T, l *link, r *agent.Reporter, term *reported) {
		l.stall()
		r.Report(term.Terminal, nil)
		synctest.Wait()
		params := json.RawMessage(`{"sessionId":"s","terminalId":"` + string(term.ID()) + `"}`)
		for range 2 {
			r.Cancel(params, func(err error) {
				require.NoError(t, err)
				l.mirror.note("answer")
			})
		}
		_, err := term.Wait(t.Context())
		require.NoError(t, err)
		synctest.Wait()
		require.Empty(t, l.mirror.tags())
		l.resume()
		synctest.Wait()
		require.Equal(t, []string{"terminal_update", "answer", "answer", "terminal_update"}, l.mirror.tags())
	})
}

// Unread answers do not pile up: the reading goroutine waits.
func TestManyUnreadAnswers(t *testing.T) {
	reporting(t, 10, func(t *testing.T, l *link, r *agent.Reporter, term *reported) {
		l.stall()
		r.Report(term.Terminal, nil)
		synctest.Wait()
		sent := 0
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range 1000 {
				r.Cancel(nil, func(error) {})
				sent++
			}
		}()
		synctest.Wait()
		require.Less(t, sent, 100)
		l.resume()
		<-done
	})
}

func TestOtherMethods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newConnected(t, jsonrpc2.HandlerWithError(
			func(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) { return req.Method, nil }))
		var method string
		require.NoError(t, c.client.Call(t.Context(), "session/new", nil, &method))
		require.Equal(t, "session/new", method)
		require.NoError(t, c.client.Notify(t.Context(), "terminal/cancel", nil))

		alone := newConnected(t, nil)
		err := alone.client.Call(t.Context(), "session/new", nil, nil)
		var wire *jsonrpc2.Error
		require.ErrorAs(t, err, &wire)
		require.Equal(t, int64(jsonrpc2.CodeMethodNotFound), wire.Code)
		require.NoError(t, alone.client.Notify(t.Context(), "session/cancel", nil))
		require.Error(t, alone.client.Call(t.Context(), "terminal/cancel", nil, nil))
	})
}

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
		_, client := connect(t, agent.NewTerminals(nil, nil).Handler(nil), initialized)
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
	})
}
