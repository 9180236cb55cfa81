//go:build unix

package mcpserver

// The functions of the host: Options.Opened and Options.Created.

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
)

func TestTheHostHearsOfSessionsAndTerminals(t *testing.T) {
	opened, created := make(chan acpterm.SessionID, 1), make(chan *acpterm.Terminal, 1)
	closed := make(chan int, 1) // number of terminals at the end
	var s *Server
	s = newServer(t, nil, &Options{
		Opened: func(id acpterm.SessionID) func() {
			opened <- id
			return func() { closed <- len(s.manager.SessionTerminals(id)) }
		},
		Created: func(t *acpterm.Terminal) { created <- t },
	})
	client := connect(t, s, nil)
	id := <-opened
	r, _ := call[commandResult](t, client, "run", object{"command": "sleep 1000", "wait_ms": 0})
	terminal := <-created
	require.True(t, strings.HasSuffix(string(terminal.ID()), r.ID))
	require.Equal(t, id, terminal.SessionID())
	require.Empty(t, closed)
	require.NoError(t, client.Close())
	require.Zero(t, <-closed)
	<-terminal.Released()
}

// If Created panics, the call fails and its command is gone; if Opened does, there is no session.
func TestPanicsOfTheHost(t *testing.T) {
	var terminal *acpterm.Terminal
	s := newServer(t, nil, &Options{
		Opened: func(acpterm.SessionID) func() { return nil },
		Created: func(t *acpterm.Terminal) {
			terminal = t
			panic("secret")
		},
	})
	text := fails(t, connect(t, s, nil), "run", object{"command": "sleep 1000"})
	require.Contains(t, text, "Created function panicked")
	require.NotContains(t, text, "secret")
	<-terminal.Released()

	refusing := New(s.manager, &Options{Opened: func(acpterm.SessionID) func() { panic("secret") }})
	_, far := mcp.NewInMemoryTransports()
	err := refusing.Run(context.Background(), far)
	require.ErrorIs(t, err, acpterm.ErrInternal)
	require.ErrorContains(t, err, "Opened function panicked")
	require.NoError(t, refusing.Close())
}

// Close waits for the functions of the host, also for those of a session that is being opened or has just ended. Later
// sessions are refused before the host hears of them.
func TestCloseWaitsForTheHost(t *testing.T) {
	t.Parallel()
	manager := acptermtest.NewManager(t, &acpterm.Options{Runner: blocking})
	for _, while := range []string{"opened", "closed"} {
		in, proceed := make(chan bool, 1), make(chan struct{})
		var opened, closed atomic.Int64
		hold := func(at string) {
			if at == while {
				in <- true
				<-proceed
			}
		}
		s := New(manager, &Options{Opened: func(acpterm.SessionID) func() {
			opened.Add(1)
			hold("opened")
			return func() { hold("closed"); closed.Add(1) }
		}})
		served := make(chan error, 1)
		near, far := mcp.NewInMemoryTransports()
		go func() { served <- s.Run(t.Context(), far) }()
		if while == "closed" {
			client, err := mcp.NewClient(&mcp.Implementation{Name: "tester"}, nil).Connect(t.Context(), near, nil)
			require.NoError(t, err)
			require.NoError(t, client.Close())
		}
		<-in
		closing := make(chan error, 1)
		go func() { closing <- s.Close() }()
		require.Eventually(t, func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.closed
		}, time.Minute, time.Millisecond)
		require.Empty(t, closing)
		close(proceed)
		require.NoError(t, <-closing)
		require.EqualValues(t, 1, closed.Load(), while)
		require.Zero(t, manager.Stats().Sessions)
		<-served
		require.ErrorIs(t, s.Run(t.Context(), far), acpterm.ErrClosing)
		require.EqualValues(t, 1, opened.Load(), while)
	}
}

// If the host closes the Manager's session itself, the policy of the session does not become void.
func TestTheHostClosesTheSession(t *testing.T) {
	t.Parallel()
	var ran atomic.Int64
	manager := acptermtest.NewManager(t, &acpterm.Options{Runner: acptermtest.Commands{
		"denied": func(*acptermtest.Process) int { ran.Add(1); return 0 },
	}})
	opened := make(chan acpterm.SessionID, 1)
	s := New(manager, &Options{
		Session: &acpterm.SessionOptions{Policy: deny},
		Opened:  func(id acpterm.SessionID) func() { opened <- id; return nil },
	})
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	client := connect(t, s, nil)
	require.NoError(t, manager.CloseSession(t.Context(), <-opened))
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() { fails(t, client, "run", object{"command": "denied", "args": []string{}}) })
	}
	calls.Wait()
	require.Zero(t, ran.Load())
	require.NoError(t, client.Close())
	require.NoError(t, s.Close())
	require.Zero(t, manager.Stats().Sessions)
}

func TestADenialIsFollowedByDenied(t *testing.T) {
	deny := acpterm.PolicyFunc(func(context.Context, acpterm.Proposal) acpterm.Decision { return acpterm.Decision{} })
	client := connect(t, newServer(t, &acpterm.Options{Policy: deny}, &Options{Denied: "Only go runs."}), nil)
	text := fails(t, client, "run", object{"command": "true"})
	require.Contains(t, text, "why.\nOnly go runs.")
	require.NotContains(t, fails(t, client, "run", object{"command": "no-such-program"}), "Only go")
}
