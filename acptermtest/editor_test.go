package acptermtest_test

// An editor that plays turns with an agent, and the transcripts of these turns.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/agent"
	"github.com/acpterm/acpterm/internal/longtest"
)

// editor is the client of an agent.
type editor struct {
	conn    *jsonrpc2.Conn
	session acpterm.SessionID
}

// open connects an editor to an agent and starts a session.
func open(ctx context.Context, terminals *acpterm.Manager, agentStdio io.ReadWriteCloser, dir string) (*editor, error) {
	e := new(editor)
	h := acpterm.NewHandler(terminals, &acpterm.HandlerOptions{Next: &noTerminals{}})
	e.conn = jsonrpc2.NewConn(ctx, jsonrpc2.NewPlainObjectStream(h.Filter(ctx, agentStdio)), h)
	initialize := map[string]any{"protocolVersion": 1, "clientCapabilities": h.Capabilities()}
	var session struct{ SessionID acpterm.SessionID }
	err := errors.Join(
		e.conn.Call(ctx, "initialize", initialize, nil),
		e.conn.Call(ctx, "session/new", map[string]any{"cwd": dir, "mcpServers": []any{}}, &session))
	e.session = session.SessionID
	return e, err
}

// prompt plays a turn and returns its stop reason.
func (e *editor) prompt(ctx context.Context, text string) (string, error) {
	var turn struct{ StopReason string }
	err := e.conn.Call(ctx, "session/prompt", map[string]any{
		"sessionId": e.session, "prompt": []any{map[string]string{"type": "text", "text": text}},
	}, &turn)
	return turn.StopReason, err
}

// close closes the connection.
func (e *editor) close() error {
	err := e.conn.Close()
	<-e.conn.DisconnectNotify()
	return err
}

// runMake returns a turn that runs make.
func runMake(o agent.RunOptions) func(*acptermtest.Turn) error {
	return func(turn *acptermtest.Turn) error {
		result, err := turn.Terminals.Run(turn.Context(), turn.Command("make"), o)
		if err == nil {
			turn.Say(fmt.Sprintf("%s: %s", result.Outcome, result.ExitStatus))
		}
		return err
	}
}

func TestCancelledTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := acptermtest.NewManager(t, &acpterm.Options{Runner: acptermtest.Commands{"make": acptermtest.Block}})
		e, err := open(t.Context(), m, acptermtest.NewAgent(t, runMake(agent.RunOptions{})), "/project")
		require.NoError(t, err)
		reasons := make(chan string)
		go func() {
			reason, _ := e.prompt(t.Context(), "wait")
			reasons <- reason
		}()
		synctest.Wait()
		require.Len(t, m.Terminals(), 1)
		require.NoError(t, e.conn.Notify(t.Context(), "session/cancel", map[string]any{"sessionId": e.session}))
		require.Equal(t, "cancelled", <-reasons)
		require.Empty(t, m.Terminals())
		require.NoError(t, e.close())
	})
}

func TestTranscriptOfATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := acptermtest.NewManager(t, &acpterm.Options{
			Runner: acptermtest.Commands{"make": acptermtest.Print("done\n", 2)},
		})
		transcript := acptermtest.Record(acptermtest.NewAgent(t, runMake(agent.RunOptions{})))
		dir := t.TempDir()
		quoted, err := json.Marshal(dir)
		require.NoError(t, err)
		transcript.Replace(string(quoted), `"/project"`)
		e, err := open(t.Context(), m, transcript, dir)
		require.NoError(t, err)
		_, err = e.prompt(t.Context(), "build it")
		require.NoError(t, err)
		require.NoError(t, e.close())
		transcript.Golden(t, "testdata/turn.txt")
	})
}

// A transcript is the same in each run, even if the order of the answers changes.
func TestTranscriptsAreTheSameInEachRun(t *testing.T) {
	for _, c := range []struct {
		name   string
		turn   func(*acptermtest.Turn) error
		cancel bool
		bubble bool
	}{
		{name: "timeout", turn: runMake(agent.RunOptions{Timeout: time.Minute}), bubble: true},
		{name: "timeout in real time", turn: runMake(agent.RunOptions{Timeout: time.Millisecond})},
		{name: "output from the start", turn: runMake(agent.RunOptions{
			Timeout: time.Minute,
			Created: func(terminal *agent.Terminal) { terminal.Output(context.Background()) },
		}), bubble: true},
		{name: "cancelled", turn: runMake(agent.RunOptions{}), cancel: true, bubble: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			golden := filepath.Join(t.TempDir(), "golden.txt")
			var first string
			play := func(t *testing.T) {
				m := acptermtest.NewManager(t, &acpterm.Options{
					Runner: acptermtest.Commands{"make": acptermtest.Block},
				})
				transcript := acptermtest.Record(acptermtest.NewAgent(t, c.turn))
				e, err := open(t.Context(), m, transcript, "/project")
				require.NoError(t, err)
				if c.cancel {
					time.AfterFunc(time.Second, func() {
						e.conn.Notify(context.Background(), "session/cancel", map[string]any{"sessionId": e.session})
					})
				}
				_, err = e.prompt(t.Context(), "build it")
				require.NoError(t, err)
				if c.bubble {
					synctest.Wait() // a cancelled request may be answered last
				}
				require.NoError(t, e.close())
				if first == "" {
					first = transcript.String()
					require.NoError(t, os.WriteFile(golden, []byte(first), 0o666))
				}
				transcript.Golden(t, golden)
				if !c.cancel {
					require.Equal(t, first, transcript.String())
				}
			}
			for range longtest.Times(20, 200) {
				if c.bubble {
					synctest.Test(t, play)
				} else {
					t.Run("", play)
				}
			}
		})
	}
}
