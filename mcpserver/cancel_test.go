//go:build unix

package mcpserver

// Cancelled calls, and progress.

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
)

// A cancelled call ends. Its command does only if the call said so.
func TestCancelledCall(t *testing.T) {
	for _, version := range versions {
		for _, kill := range []bool{false, true} {
			m := acptermtest.NewManager(t, nil)
			server := New(m, nil)
			started, reported := make(chan string, 1), make(chan struct{}, 100)
			m.Observe(func(e acpterm.Event) {
				if e, ok := e.(*acpterm.StartEvent); ok {
					started <- string(e.TerminalID)
				}
			})
			s := connect(t, server, &mcp.ClientOptions{
				ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) {
					reported <- struct{}{}
				},
			}, version)
			ctx, cancel := context.WithCancel(t.Context())
			failed := make(chan error, 1)
			go func() {
				params := &mcp.CallToolParams{Name: "run", Arguments: object{
					"command": "echo up; sleep 1000", "kill_on_cancel": kill, "wait_ms": 600_000,
				}}
				params.SetProgressToken("p")
				_, err := s.CallTool(ctx, params)
				failed <- err
			}()
			id := <-started
			<-reported // the call waits
			cancel()
			require.ErrorIs(t, <-failed, context.Canceled)
			if kill {
				w, _ := call[commandResult](t, s, "wait", object{"id": id})
				require.Equal(t, "killed", w.EndedBy)
			} else {
				w, _ := call[commandResult](t, s, "wait", object{"id": id, "wait_ms": 1})
				require.Equal(t, "running", w.State)
			}
			require.NoError(t, server.Close())
		}
	}
}

func TestCancelledQuestionRunsNothing(t *testing.T) {
	for _, version := range versions {
		asked := make(chan struct{})
		client := &mcp.ClientOptions{
			ElicitationHandler: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				close(asked)
				<-ctx.Done()
				return nil, ctx.Err()
			},
		}
		m := acptermtest.NewManager(t, asking())
		server := New(m, nil)
		s := connect(t, server, client, version)
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() {
			_, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "run", Arguments: object{"command": "true"}})
			failed <- err
		}()
		<-asked
		cancel()
		require.Error(t, <-failed)
		if version == versions[0] {
			require.Eventually(t, func() bool { return len(m.Terminals()) == 0 }, time.Minute, time.Millisecond)
		}
		require.NoError(t, server.Close())
		require.Empty(t, m.Terminals())
	}
}

func TestProgressHasTheLatestLines(t *testing.T) {
	messages := make(chan *mcp.ProgressNotificationParams, 100)
	s := connect(t, newServer(t, nil, nil), &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			messages <- r.Params
		},
	})
	dir := t.TempDir()
	done := make(chan *mcp.CallToolResult, 1)
	go func() {
		params := &mcp.CallToolParams{Name: "run", Arguments: object{
			"command": "mkfifo p; seq 1 5000; printf '\\033[1mlatest'; cat p", "cwd": dir, "wait_ms": 600_000,
		}}
		params.SetProgressToken("token")
		result, err := s.CallTool(t.Context(), params)
		if err != nil {
			t.Error(err)
		}
		done <- result
	}()
	var first *mcp.ProgressNotificationParams
	for first == nil || !strings.HasSuffix(first.Message, "5000\nlatest") {
		first = <-messages
	}
	require.Equal(t, "token", first.ProgressToken)
	require.LessOrEqual(t, len(first.Message), 1200)
	call[commandResult](t, s, "run", object{"command": "echo; echo more > p", "cwd": dir})
	result := <-done
	require.Contains(t, textOf(result), "more\n")
	for len(messages) > 0 {
		next := <-messages
		require.Greater(t, next.Progress, first.Progress)
		first = next
	}
}
