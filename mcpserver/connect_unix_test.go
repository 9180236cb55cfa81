//go:build unix

package mcpserver

// A client in this process.

import (
	"cmp"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
)

// versions are those of MCP in which questions travel differently.
var versions = []string{"2025-11-25", "2026-07-28"}

// connect serves a session of a Server in this process, and returns its client.
func connect(t *testing.T, s *Server, options *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	return connectVersion(t, s, options, "")
}

func connectVersion(t *testing.T, s *Server, options *mcp.ClientOptions, version string) *mcp.ClientSession {
	t.Helper()
	here, there := mcp.NewInMemoryTransports()
	served := make(chan error, 1)
	go func() { served <- s.Run(context.Background(), there) }()
	client := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, options)
	session, err := client.Connect(t.Context(), here, &mcp.ClientSessionOptions{ProtocolVersion: version})
	require.NoError(t, err)
	require.Equal(t, cmp.Or(version, versions[1]), session.InitializeResult().ProtocolVersion)
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
