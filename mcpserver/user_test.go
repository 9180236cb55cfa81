//go:build unix

package mcpserver

// What the host's user does to a command that the model waits for.

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
)

// serveUser returns a server whose terminals the user has.
func serveUser(t *testing.T) (*Server, <-chan *acpterm.Terminal) {
	t.Helper()
	created := make(chan *acpterm.Terminal, 1)
	return newServer(t, nil, &Options{Created: func(t *acpterm.Terminal) { created <- t }}), created
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
