package acptermtest_test

// Tests of NewAgent and Connect: the agent's answers, its turns, and the reporting of failures.

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"
)

// noTerminals is a client that serves no requests. It records session/update notifications.
type noTerminals struct{ updates []string }

func (c *noTerminals) Handle(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) {
	c.updates = append(c.updates, string(*req.Params))
}

func TestAgentsAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		prompts := 0
		turn := func(turn *acptermtest.Turn) error {
			prompts++
			if turn.Prompt == "fail" {
				return errors.New("failed")
			}
			_, err := turn.Terminals.Create(turn.Context(), turn.Command("x"))
			return err
		}
		client := &noTerminals{}
		conn := jsonrpc2.NewConn(t.Context(), jsonrpc2.NewPlainObjectStream(acptermtest.NewAgent(t, turn)), client)
		for _, c := range []struct {
			method, params, result string
			code                   int64
		}{
			{"initialize", `{"protocolVersion":1,"clientCapabilities":{}}`, `{"protocolVersion":1,"agentCapabilities":{}}`, 0},
			{"session/prompt", `{"sessionId":"session-1","prompt":[]}`, "", -32602},
			{"session/new", `{"cwd":"/a","mcpServers":[]}`, `{"sessionId":"session-1"}`, 0},
			{"session/new", `[]`, "", -32602},
			{"session/prompt", `{"sessionId":"session-1","prompt":[{"type":"text","text":"fail"}]}`, "", -32603},
			{"session/prompt", `{"sessionId":"session-1","prompt":[{"type":"text","text":"x"}]}`, "", -32601},
			{"session/load", `{}`, "", -32601},
			{"session/load", `null`, "", -32601},
			{"session/load", `[]`, "", -32601},
			{"session/load", `{"prompt":7}`, "", -32601},
			{"session/cancel", `{"sessionId":"session-1"}`, "", -32601},
		} {
			var result json.RawMessage
			err := conn.Call(t.Context(), c.method, json.RawMessage(c.params), &result)
			if c.code != 0 {
				failure, ok := errors.AsType[*jsonrpc2.Error](err)
				require.True(t, ok, "%s %s: %v", c.method, c.params, err)
				require.Equal(t, c.code, failure.Code, c.params)
				continue
			}
			require.NoError(t, err)
			require.JSONEq(t, c.result, string(result))
		}
		require.Equal(t, 2, prompts)
		require.NoError(t, conn.Close())
	})
}

func TestAgentsAnswersWithoutParams(t *testing.T) {
	stdio := acptermtest.NewAgent(t, func(*acptermtest.Turn) error { return nil })
	lines := bufio.NewScanner(stdio)
	for method, code := range map[string]int64{"session/load": -32601, "session/new": -32602} {
		fmt.Fprintf(stdio, `{"jsonrpc":"2.0","id":1,"method":"%s"}`+"\n", method)
		require.True(t, lines.Scan(), lines.Err())
		var answer jsonrpc2.Response
		require.NoError(t, json.Unmarshal(lines.Bytes(), &answer))
		require.NotNil(t, answer.Error, method)
		require.Equal(t, code, answer.Error.Code, method)
	}
}

// An agent that has ended comes back, continues its session, and with it its terminals.
func TestAgentsContinueSessions(t *testing.T) {
	m := acptermtest.NewManager(t, &acpterm.Options{Runner: acptermtest.Commands{"block": acptermtest.Block}})
	connect := func(turn func(*acptermtest.Turn) error, earlier ...acpterm.SessionID) (*acpterm.Handler, *jsonrpc2.Conn) {
		h := acpterm.NewHandler(m, &acpterm.HandlerOptions{KeepOnClose: time.Hour})
		stream := jsonrpc2.NewPlainObjectStream(h.Filter(t.Context(), acptermtest.NewAgent(t, turn, earlier...)))
		return h, jsonrpc2.NewConn(t.Context(), stream, &noTerminals{})
	}
	initialize := json.RawMessage(`{"protocolVersion":1,"clientCapabilities":{"terminal":true}}`)
	prompt := json.RawMessage(`{"sessionId":"session-1","prompt":[]}`)
	var id acpterm.TerminalID
	h, conn := connect(func(turn *acptermtest.Turn) error {
		terminal, err := turn.Terminals.Create(turn.Context(), turn.Command("block"))
		id = terminal.ID()
		return err
	})
	require.NoError(t, conn.Call(t.Context(), "initialize", initialize, nil))
	require.NoError(t, conn.Call(t.Context(), "session/new", map[string]any{"cwd": "/"}, nil))
	require.NoError(t, conn.Call(t.Context(), "session/prompt", prompt, nil))
	require.NoError(t, conn.Close())
	require.NoError(t, h.Close())

	for _, method := range []string{"session/load", "session/resume"} {
		h, conn := connect(func(turn *acptermtest.Turn) error {
			require.Equal(t, "/again", turn.Cwd)
			return turn.Terminals.Terminal(turn.SessionID, id).Kill(turn.Context())
		}, "session-1")
		require.Len(t, h.TakeOver("session-1"), 1)
		var result json.RawMessage
		require.NoError(t, conn.Call(t.Context(), "initialize", initialize, &result))
		require.Contains(t, string(result), `"loadSession":true`)
		params := map[string]any{"sessionId": "session-1", "cwd": "/again"}
		require.Error(t, conn.Call(t.Context(), "session/prompt", prompt, nil), "it is not loaded yet")
		require.NoError(t, conn.Call(t.Context(), method, params, nil))
		require.NoError(t, conn.Call(t.Context(), "session/prompt", prompt, nil))
		params["sessionId"] = "other"
		require.Error(t, conn.Call(t.Context(), method, params, nil))
		require.NoError(t, conn.Call(t.Context(), "session/new", params, &result))
		require.JSONEq(t, `{"sessionId":"session-2"}`, string(result))
		require.NoError(t, conn.Close())
		require.NoError(t, h.Close())
	}
}

// A session has at most one turn at a time. Its context ends with the connection.
func TestOneTurnAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := 0
		turn := func(turn *acptermtest.Turn) error {
			turn.Say("working")
			<-turn.Context().Done()
			ended++
			return nil
		}
		client := &noTerminals{}
		conn := jsonrpc2.NewConn(t.Context(), jsonrpc2.NewPlainObjectStream(acptermtest.NewAgent(t, turn)), client)
		require.NoError(t, conn.Call(t.Context(), "session/new", map[string]any{"cwd": "/"}, nil))
		prompt := json.RawMessage(`{"sessionId":"session-1","prompt":[]}`)
		go conn.Call(t.Context(), "session/prompt", prompt, nil)
		synctest.Wait()
		require.ErrorContains(t, conn.Call(t.Context(), "session/prompt", prompt, nil), "in progress")
		require.Equal(t, []string{`{"sessionId":"session-1","update":{"content":{"text":"working","type":"text"},"sessionUpdate":"agent_message_chunk"}}`}, client.updates)
		require.NoError(t, conn.Close())
		synctest.Wait()
		require.Equal(t, 1, ended)
	})
}

// failingVariable names the entry of failing that TestFailing runs in a child process.
const failingVariable = "ACPTERMTEST_FAILING"

var failing = map[string]func(*testing.T){
	"fatal": func(t *testing.T) {
		stdio := acptermtest.NewAgent(t, func(*acptermtest.Turn) error {
			t.Fatal("failed in a turn")
			return nil
		})
		conn := jsonrpc2.NewConn(t.Context(), jsonrpc2.NewPlainObjectStream(stdio), &noTerminals{})
		defer conn.Close()
		require.NoError(t, conn.Call(t.Context(), "session/new", map[string]any{"cwd": "/"}, nil))
		err := conn.Call(t.Context(), "session/prompt", json.RawMessage(`{"sessionId":"session-1","prompt":[]}`), nil)
		require.ErrorContains(t, err, "the turn did not return")
	},
	"not a message": func(t *testing.T) { // the test ends right after the write
		stdio := acptermtest.NewAgent(t, func(*acptermtest.Turn) error { return nil })
		io.WriteString(stdio, "a line of a log\n")
	},
}

func TestFailing(t *testing.T) {
	if test := failing[os.Getenv(failingVariable)]; test != nil {
		test(t)
	}
}

// A failure is reported in each run. The test does not hang, and the program continues.
func TestFailuresAreReported(t *testing.T) {
	const runs = 100
	for name, text := range map[string]string{
		"fatal":         "failed in a turn",
		"not a message": `agent got a line of 15 bytes that is no message, it is not JSON: "a line of a log"`,
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			command := exec.CommandContext(ctx, self(t), "-test.run=^TestFailing$", fmt.Sprint("-test.count=", runs))
			command.Env = append(os.Environ(), failingVariable+"="+name)
			output, err := command.CombinedOutput()
			require.NoError(t, ctx.Err(), "it hangs")
			require.Error(t, err)
			require.Equal(t, runs, strings.Count(string(output), text), "%s", output[:min(len(output), 4000)])
			require.Equal(t, runs, strings.Count(string(output), "--- FAIL: TestFailing "))
		})
	}
}

func TestConnect(t *testing.T) {
	bubble(t, acpterm.Options{Runner: acptermtest.Commands{"x": acptermtest.Block}}, func(t *testing.T, m *acpterm.Manager) {
		var created []*acpterm.Terminal
		h := acpterm.NewHandler(m, &acpterm.HandlerOptions{Created: func(t *acpterm.Terminal) { created = append(created, t) }})
		c := &failureRecorder{TB: t}
		_, err := acptermtest.Connect(c, h).Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "x"})
		require.NoError(t, err)
		require.Len(t, created, 1)
		require.Empty(t, c.end())
		require.Empty(t, m.Terminals(), "the end of the connection releases them")
	})
}

// Two agents with different prefixes have separate sessions, even if they use the same session id.
func TestSessionPrefixes(t *testing.T) {
	bubble(t, acpterm.Options{Runner: acptermtest.Commands{"x": acptermtest.Block}, RequireSessions: true}, func(t *testing.T, m *acpterm.Manager) {
		a := acptermtest.Connect(t, acpterm.NewHandler(m, &acpterm.HandlerOptions{SessionPrefix: "a/"}))
		b := acptermtest.Connect(t, acpterm.NewHandler(m, &acpterm.HandlerOptions{SessionPrefix: "b/"}))
		require.NoError(t, m.OpenSession("a/session-1", nil))
		x := acpterm.CreateTerminalRequest{SessionID: "session-1", Command: "x"}
		ofA, err := a.Create(t.Context(), x)
		require.NoError(t, err)
		require.Len(t, m.SessionTerminals("a/session-1"), 1)

		_, err = b.Create(t.Context(), x)
		require.ErrorIs(t, err, acpterm.ErrSessionNotFound)
		failure, ok := errors.AsType[*jsonrpc2.Error](err)
		require.True(t, ok)
		require.Contains(t, string(*failure.Data), `"sessionId":"session-1"`, "without the prefix")
		_, err = a.Create(t.Context(), acpterm.CreateTerminalRequest{Command: "x"})
		require.ErrorIs(t, err, acpterm.ErrSessionNotFound, "an empty id is not the prefix")

		require.NoError(t, m.OpenSession("b/session-1", nil))
		for _, method := range []string{acpterm.MethodOutput, acpterm.MethodKill, acpterm.MethodRelease} {
			h := acpterm.NewHandler(m, &acpterm.HandlerOptions{SessionPrefix: "b/"})
			_, err := h.Dispatch(t.Context(), method, json.RawMessage(`{"sessionId":"session-1","terminalId":"`+string(ofA.ID())+`"}`))
			require.ErrorIs(t, err, acpterm.ErrTerminalNotFound, method)
			e, _ := errors.AsType[*acpterm.Error](err)
			require.Equal(t, acpterm.SessionID("session-1"), e.SessionID)
		}
		_, err = ofA.Output(t.Context())
		require.NoError(t, err)
		require.NoError(t, ofA.Release(t.Context()))
	})
}
