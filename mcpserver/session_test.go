//go:build unix

package mcpserver

// Sessions with a client in this process: they are apart, and leave nothing behind.

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/internal/longtest"
)

// stubborn is a command whose tree is hard to kill.
const stubborn = "trap '' TERM; (setsid sh -c 'trap \"\" TERM HUP; sleep 1000' &) ; echo up; sleep 1000"

// quick kills without waiting.
func quick() *acpterm.Options {
	return &acpterm.Options{Commands: acpterm.CommandOptions{Escalation: []acpterm.EscalationStep{}}}
}

// The Manager of newServer checks that no process is left; these tests end sessions while a call waits.
func TestSessionEnds(t *testing.T) {
	for name, end := range map[string]func(net.Conn, *Server, *acpterm.Manager, context.CancelFunc){
		"by the client":  func(c net.Conn, _ *Server, _ *acpterm.Manager, _ context.CancelFunc) { c.Close() },
		"by the context": func(_ net.Conn, _ *Server, _ *acpterm.Manager, cancel context.CancelFunc) { cancel() },
		"by Close":       func(_ net.Conn, s *Server, _ *acpterm.Manager, _ context.CancelFunc) { s.Close() },
		"by the Manager": func(_ net.Conn, _ *Server, m *acpterm.Manager, _ context.CancelFunc) { m.Close() },
	} {
		for _, version := range versions {
			t.Run(name+" "+version, func(t *testing.T) {
				m := acptermtest.NewManager(t, quick())
				s := New(m, nil)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				near, far := net.Pipe()
				here, there := &mcp.IOTransport{Reader: near, Writer: near}, &mcp.IOTransport{Reader: far, Writer: far}
				served := make(chan error, 1)
				go func() { served <- s.Run(ctx, there) }()
				waiting := make(chan bool, 1000)
				client := mcp.NewClient(&mcp.Implementation{Name: "tester"}, &mcp.ClientOptions{
					ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) {
						waiting <- true
					},
				})
				c, err := client.Connect(t.Context(), here, &mcp.ClientSessionOptions{ProtocolVersion: version})
				require.NoError(t, err)
				defer c.Close()
				r, _ := call[commandResult](t, c, "run", object{"command": stubborn, "wait_ms": 0})
				call[commandResult](t, c, "wait", object{"id": r.ID, "until": "up"})
				waited := make(chan struct{})
				go func() {
					defer close(waited)
					params := &mcp.CallToolParams{Name: "wait", Arguments: object{"id": r.ID, "wait_ms": 600_000}}
					params.SetProgressToken(1)
					c.CallTool(t.Context(), params)
				}()
				terminal := m.Terminals()[0]
				<-waiting
				end(near, s, m, cancel)
				if name == "by the Manager" {
					<-waited
					c.Close()
				}
				err = <-served
				switch name {
				case "by the client", "by the Manager":
					require.NoError(t, err)
				case "by the context":
					require.ErrorIs(t, err, context.Canceled)
				default:
					require.ErrorIs(t, err, acpterm.ErrClosing)
				}
				<-waited
				<-terminal.Released()
				require.Empty(t, m.Terminals())
				require.NoError(t, s.Close())
				require.ErrorIs(t, s.Run(t.Context(), there), acpterm.ErrClosing)
			})
		}
	}
}

var deny = acpterm.PolicyFunc(func(context.Context, acpterm.Proposal) acpterm.Decision {
	return acpterm.Decision{Verdict: acpterm.VerdictDeny}
})

// A command that the session's policy denies does not run while the session is being closed either.
func TestNothingDeniedRunsAtTheEnd(t *testing.T) {
	t.Parallel()
	var ran atomic.Int64
	m := acptermtest.NewManager(t, &acpterm.Options{Runner: acptermtest.Commands{
		"denied": func(*acptermtest.Process) int { ran.Add(1); return 0 },
	}})
	s := New(m, &Options{Session: &acpterm.SessionOptions{Policy: deny}})
	request := &mcp.CallToolRequest{Session: new(mcp.ServerSession), Params: new(mcp.CallToolParamsRaw)}
	for range longtest.Times(50, 3000) {
		c, err := s.open(t.Context())
		require.NoError(t, err)
		var calls, begun sync.WaitGroup
		begun.Add(4)
		for range 4 {
			calls.Go(func() {
				begun.Done()
				_, _, err := c.create(t.Context(), request, runInput{Command: "denied", Args: []string{}})
				require.Error(t, err)
			})
		}
		begun.Wait()
		require.NoError(t, c.close())
		calls.Wait()
		require.Empty(t, m.Terminals())
	}
	require.Zero(t, ran.Load())
	require.Zero(t, m.Stats().Sessions)
}

// versions are those of MCP in which questions travel differently.
var versions = []string{"2025-11-25", "2026-07-28"}

// connect serves a session of a Server in this process, and returns its client. By default it has the newest version.
func connect(t *testing.T, s *Server, options *mcp.ClientOptions, version ...string) *mcp.ClientSession {
	t.Helper()
	here, there := mcp.NewInMemoryTransports()
	served := make(chan error, 1)
	go func() { served <- s.Run(context.Background(), there) }()
	client := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, options)
	session, err := client.Connect(t.Context(), here, &mcp.ClientSessionOptions{ProtocolVersion: cmp.Or(version...)})
	require.NoError(t, err)
	require.Equal(t, cmp.Or(append(version, versions[1])...), session.InitializeResult().ProtocolVersion)
	t.Cleanup(func() {
		session.Close()
		err := <-served
		// The test may have closed the Server, or cancelled calls whose responses then came too late.
		if !errors.Is(err, acpterm.ErrClosing) && !errors.Is(err, io.ErrClosedPipe) {
			require.NoError(t, err)
		}
	})
	return session
}

// newServer returns a Server with a Manager of its own, and checks in the end that no process is left.
func newServer(t *testing.T, manager *acpterm.Options, options *Options) *Server {
	t.Helper()
	s := New(acptermtest.NewManager(t, manager), options)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}
