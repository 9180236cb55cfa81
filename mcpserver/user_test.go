//go:build unix

package mcpserver

// What the host's user does to a command that the model waits for.

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
)

// serveUser returns a server whose terminals the user has.
func serveUser(t *testing.T) (*Server, <-chan *acpterm.Terminal) {
	t.Helper()
	created := make(chan *acpterm.Terminal, 1)
	options := consenting()
	options.Created = func(t *acpterm.Terminal) { created <- t }
	return newServer(t, nil, options), created
}

func TestTheModelHearsThatTheUserHasStoppedACommand(t *testing.T) {
	server, created := serveUser(t)
	s := connect(t, server, nil)
	go func() { (<-created).Stop(t.Context()) }()
	r, text := call[commandResult](t, s, "run", object{"command": "sleep 1000"})
	require.Equal(t, "ended", r.State)
	require.Equal(t, string(acpterm.EndedByUser), r.EndedBy)
	require.Contains(t, text, "stopped by the user: do not run it again unless asked")
}

// A call that waits returns when the user moves its command to the background. Later calls wait as usual.
func TestTheUserMovesACommandToTheBackground(t *testing.T) {
	server, created := serveUser(t)
	s := connect(t, server, nil)
	var terminal *acpterm.Terminal
	// whileMoving calls a tool, and moves the command to the background until the call returns: it may not wait yet.
	whileMoving := func(tool string, arguments object) (commandResult, string) {
		over, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			if terminal == nil {
				terminal = <-created
			}
			for {
				select {
				case <-over:
					return
				default:
					terminal.MoveToBackground()
					runtime.Gosched()
				}
			}
		}()
		r, text := call[commandResult](t, s, tool, arguments)
		close(over)
		<-stopped
		return r, text
	}
	const long = 200_000
	r, text := whileMoving("run", object{"command": "echo up; exec sleep 1000", "stdin": true, "wait_ms": long})
	require.Equal(t, "running", r.State)
	require.True(t, r.MovedToBackground)
	require.Contains(t, text, "moved to the background by the user: do not wait for it")
	r, _ = whileMoving("wait", object{"id": r.ID, "wait_ms": long})
	require.Equal(t, "running", r.State)
	r, _ = whileMoving("wait", object{"id": r.ID, "wait_ms": long, "until": "never"})
	require.Equal(t, "running", r.State)
	require.False(t, *r.Matched)
	r, _ = whileMoving("write", object{"id": r.ID, "text": "x", "wait_ms": long})
	require.Equal(t, "running", r.State)
	go terminal.Stop(t.Context())
	r, _ = call[commandResult](t, s, "wait", object{"id": r.ID, "wait_ms": long})
	require.Equal(t, "ended", r.State)
	require.False(t, r.MovedToBackground)
}
