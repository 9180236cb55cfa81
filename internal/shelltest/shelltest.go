// Package shelltest tests shells that a Transport of package remote opens. Only tests import it.
package shelltest

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// Transport is a remote.Transport.
type Transport interface {
	Open(ctx context.Context) (io.ReadWriteCloser, error)
}

// Shell is an open shell.
type Shell struct {
	io.ReadWriteCloser
	t *testing.T
}

// Open opens a shell and closes it when the test ends.
func Open(t *testing.T, transport Transport) *Shell {
	t.Helper()
	c, err := transport.Open(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return &Shell{c, t}
}

// Say writes a line to the shell.
func (s *Shell) Say(line string) {
	s.t.Helper()
	_, err := io.WriteString(s, line+"\n")
	require.NoError(s.t, err)
}

// Hear reads the given text.
func (s *Shell) Hear(text string) {
	s.t.Helper()
	got := make([]byte, len(text))
	_, err := io.ReadFull(s, got)
	require.NoError(s.t, err)
	require.Equal(s.t, text, string(got))
}

// CloseWrite ends the shell's input.
func (s *Shell) CloseWrite() error {
	return s.ReadWriteCloser.(interface{ CloseWrite() error }).CloseWrite()
}

// TestBytes makes the shell run cat. Bytes arrive unchanged in both directions, and the end of the input arrives.
func (s *Shell) TestBytes(size int) {
	s.t.Helper()
	s.Say("exec sh -c 'echo ready; exec cat'")
	s.Hear("ready\n")
	data := make([]byte, size)
	_, _ = rand.Read(data)
	wrote := make(chan error)
	go func() {
		_, err := s.Write(data)
		wrote <- errors.Join(err, s.CloseWrite())
	}()
	got, err := io.ReadAll(s)
	require.NoError(s.t, err)
	require.NoError(s.t, <-wrote)
	require.Equal(s.t, len(data), len(got))
	require.True(s.t, string(data) == string(got), "other bytes arrived")
}

// TestExit tests the error at a shell's end. It has the exit status, the end of the standard error, and the name of the
// place. killed is a part of the error after SIGKILL.
func TestExit(t *testing.T, transport Transport, place, killed string) {
	for _, test := range []struct{ line, want string }{
		{"exit 3", "the shell has ended with exit status 3"},
		{"echo first >&2; head -c 10000 /dev/zero >&2; echo last >&2; exit 4", "last"},
		{"nothing-of-this-name", "nothing-of-this-name: "},
		{"kill -KILL $$", killed},
	} {
		s := Open(t, transport)
		s.Say(test.line)
		require.NoError(t, s.CloseWrite())
		_, err := io.ReadAll(s)
		require.ErrorContains(t, err, test.want)
		require.ErrorContains(t, err, place)
		require.NotContains(t, err.Error(), "first")
		require.Less(t, len(err.Error()), 5000)
	}
	s := Open(t, transport)
	s.Say("exit 0")
	out, err := io.ReadAll(s)
	require.NoError(t, err)
	require.Empty(t, out)
	for err == nil { // until the server has closed the connection
		_, err = s.Write([]byte("x"))
	}
	require.ErrorIs(t, err, io.ErrClosedPipe)
}

// TestContext tests that Open fails if its context has ended, or ends while the server at an address does not answer.
// It leaves no connection behind. After Open, the context has no effect.
func TestContext(t *testing.T, transport Transport, to func(address string) Transport) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := transport.Open(ctx)
	require.ErrorIs(t, err, context.Canceled)

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	ctx, cancel = context.WithCancel(t.Context())
	opened := make(chan error)
	go func() {
		_, err := to(listener.Addr().String()).Open(ctx)
		opened <- err
	}()
	conn, err := listener.Accept()
	require.NoError(t, err)
	cancel()
	require.ErrorIs(t, <-opened, context.Canceled)
	_, _ = io.Copy(io.Discard, conn) // until the client has closed the connection
	require.NoError(t, conn.Close())

	ctx, cancel = context.WithCancel(t.Context())
	c, err := transport.Open(ctx)
	require.NoError(t, err)
	cancel()
	s := &Shell{c, t}
	s.Say("echo ready")
	s.Hear("ready\n")
	require.NoError(t, s.Close())
}
