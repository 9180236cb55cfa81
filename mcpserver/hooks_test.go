//go:build unix

package mcpserver

// The functions of the host: Options.Opened and Options.Created.

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
)

func TestTheHostHearsOfSessionsAndTerminals(t *testing.T) {
	opened, created := make(chan acpterm.SessionID, 1), make(chan *acpterm.Terminal, 1)
	closed := make(chan int, 1) // number of terminals at the end
	manager := acptermtest.NewManager(t, nil)
	s := New(manager, &Options{
		Opened: func(id acpterm.SessionID) func() {
			opened <- id
			return func() { closed <- len(manager.SessionTerminals(id)) }
		},
		Created: func(t *acpterm.Terminal) { created <- t },
	})
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	client := connect(t, s, nil)
	id := <-opened
	r, _ := call[commandResult](t, client, "run", object{"command": "sleep 1000", "wait_ms": 0})
	terminal := <-created
	require.Equal(t, r.ID, string(terminal.ID()))
	require.Equal(t, id, terminal.SessionID())
	require.Empty(t, closed)
	require.NoError(t, client.Close())
	require.Zero(t, <-closed)
	<-terminal.Released()
}

// If Created panics, the call fails and its command is gone; if Opened does, there is no session.
func TestPanicsOfTheHost(t *testing.T) {
	manager := acptermtest.NewManager(t, nil)
	var terminal *acpterm.Terminal
	s := New(manager, &Options{
		Opened: func(acpterm.SessionID) func() { return nil },
		Created: func(t *acpterm.Terminal) {
			terminal = t
			panic("secret")
		},
	})
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	text := fails(t, connect(t, s, nil), "run", object{"command": "sleep 1000"})
	require.Contains(t, text, "Created function panicked")
	require.NotContains(t, text, "secret")
	<-terminal.Released()

	refusing := New(manager, &Options{Opened: func(acpterm.SessionID) func() { panic("secret") }})
	_, far := mcp.NewInMemoryTransports()
	err := refusing.Run(context.Background(), far)
	require.ErrorIs(t, err, acpterm.ErrInternal)
	require.ErrorContains(t, err, "Opened function panicked")
	require.NoError(t, refusing.Close())
}
