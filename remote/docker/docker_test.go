package docker_test

// Shells by exec, with the server of server_test.go.

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/remote/docker"
)

// shell is the type of the value returned by Open.
type shell interface {
	io.ReadWriteCloser
	CloseWrite() error
}

// open opens a shell and closes it when the test ends.
func open(t *testing.T, transport *docker.Transport) shell {
	t.Helper()
	c, err := transport.Open(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c.(shell)
}

// start starts a server. When the test ends, nothing of its connections may remain.
func start(t *testing.T) *server {
	t.Helper()
	t.Cleanup(func() { requireNoGoroutines(t) })
	return startServer(t)
}

// say writes a line to a shell.
func say(t *testing.T, c io.Writer, line string) {
	t.Helper()
	_, err := io.WriteString(c, line+"\n")
	require.NoError(t, err)
}

// hear reads the given text.
func hear(t *testing.T, c io.Reader, text string) {
	t.Helper()
	got := make([]byte, len(text))
	_, err := io.ReadFull(c, got)
	require.NoError(t, err)
	require.Equal(t, text, string(got))
}

// requireNoGoroutines fails the test if goroutines of connections or of net/http remain. Some may need a moment to end,
// so it waits for that, but not forever.
func requireNoGoroutines(t *testing.T) {
	t.Helper()
	var found []string
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); runtime.Gosched() {
		buf := make([]byte, 1<<20)
		found = nil
		for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			of := strings.Contains(stack, "remote/docker.") || strings.Contains(stack, "net/http.")
			if of && !strings.Contains(stack, "requireNoGoroutines") {
				found = append(found, stack)
			}
		}
		if len(found) == 0 {
			return
		}
	}
	require.Empty(t, found, "goroutines are left")
}

// Bytes arrive unchanged in both directions, and the end of the input arrives.
func TestBytes(t *testing.T) {
	c := open(t, &docker.Transport{Container: "box", Host: start(t).url})
	say(t, c, "exec sh -c 'echo ready; exec cat'")
	hear(t, c, "ready\n")
	data := make([]byte, 8<<20)
	_, _ = rand.Read(data)
	wrote := make(chan error)
	go func() {
		_, err := c.Write(data)
		wrote <- errors.Join(err, c.CloseWrite())
	}()
	got, err := io.ReadAll(c)
	require.NoError(t, err)
	require.NoError(t, <-wrote)
	require.Equal(t, len(data), len(got))
	require.True(t, string(data) == string(got), "other bytes arrived")
}

// The daemon is the one of the environment unless another one is given, and receives the options.
func TestOptions(t *testing.T) {
	s := start(t)
	t.Setenv("DOCKER_HOST", s.url)
	dir := t.TempDir()
	c := open(t, &docker.Transport{
		Container: "box", User: "1000:1000", WorkingDir: dir, Env: []string{"GREETING=good day"},
	})
	say(t, c, `echo "$GREETING"; pwd`)
	hear(t, c, "good day\n"+dir+"\n")
	created := s.requests()[0]
	require.Equal(t, "1000:1000", created.User)
	require.Equal(t, []string{"sh"}, created.Cmd)
	require.False(t, created.Tty)

	t.Setenv("DOCKER_HOST", "unix:///nothing")
	open(t, &docker.Transport{Container: "box", Host: s.url})
	_, err := (&docker.Transport{Container: "box"}).Open(t.Context())
	require.ErrorContains(t, err, "/nothing")
}

// Errors contain the daemon's refusal.
func TestRefusals(t *testing.T) {
	s := start(t)
	_, err := (&docker.Transport{Container: "other", Host: s.url}).Open(t.Context())
	require.ErrorContains(t, err, "No such container: other")
	_, err = (&docker.Transport{Host: s.url}).Open(t.Context())
	require.ErrorContains(t, err, "Container is empty")
	_, err = (&docker.Transport{Container: "box", Host: "nonsense"}).Open(t.Context())
	require.ErrorContains(t, err, "nonsense")
}

// The error at the shell's end has its exit status and the end of its standard error.
func TestExit(t *testing.T) {
	s := start(t)
	for _, test := range []struct{ line, want string }{
		{"exit 3", "the shell has ended with exit status 3"},
		{"echo first >&2; head -c 10000 /dev/zero >&2; echo last >&2; exit 4", "last"},
		{"nothing-of-this-name; exit", "nothing-of-this-name: "},
		{"kill -KILL $$", "exit status 137"}, // Docker does not report signals
	} {
		c := open(t, &docker.Transport{Container: "box", Host: s.url})
		say(t, c, test.line)
		_, err := io.ReadAll(c)
		require.ErrorContains(t, err, test.want)
		require.ErrorContains(t, err, "container box")
		require.NotContains(t, err.Error(), "first")
		require.Less(t, len(err.Error()), 5000)
	}
	c := open(t, &docker.Transport{Container: "box", Host: s.url})
	say(t, c, "exit 0")
	out, err := io.ReadAll(c)
	require.NoError(t, err)
	require.Empty(t, out)
	for err == nil { // until the server has closed the connection
		_, err = c.Write([]byte("x"))
	}
	require.ErrorIs(t, err, io.ErrClosedPipe)
}

// Read and Write fail if the connection is cut while the shell runs, although this looks like the end of the output.
func TestConnectionLost(t *testing.T) {
	s := start(t)
	c := open(t, &docker.Transport{Container: "box", Host: s.url})
	say(t, c, "echo ready; exec sleep 1000")
	hear(t, c, "ready\n")
	s.breakStreams()
	_, err := c.Read(make([]byte, 1))
	require.ErrorContains(t, err, "the connection is lost")
	require.NotErrorIs(t, err, io.EOF)
	_, err = c.Write([]byte("x"))
	require.ErrorContains(t, err, "the connection is lost")

	c = open(t, &docker.Transport{Container: "box", Host: s.url})
	say(t, c, "echo ready; exec cat")
	hear(t, c, "ready\n")
	s.stop() // stops the whole daemon
	_, err = c.Read(make([]byte, 1))
	require.ErrorContains(t, err, "the connection is lost")
}

// Close ends a waiting Read and a waiting Write, even if nothing reads the output, and ends the shell's input.
func TestClose(t *testing.T) {
	s := start(t)
	c := open(t, &docker.Transport{Container: "box", Host: s.url})
	say(t, c, "exec sh -c 'echo ready; read x; exec cat'")
	hear(t, c, "ready\n")
	say(t, c, "")
	ended := make(chan error)
	go func() {
		for {
			if _, err := c.Write(make([]byte, 1<<20)); err != nil {
				ended <- err
				return
			}
		}
	}()
	hear(t, c, "\x00")
	require.NoError(t, c.Close())
	require.ErrorIs(t, <-ended, net.ErrClosed)
	_, err := c.Read(make([]byte, 1))
	require.ErrorIs(t, err, net.ErrClosed)
	require.NoError(t, c.Close())
	s.runs.Wait() // the shell has ended

	c = open(t, &docker.Transport{Container: "box", Host: s.url})
	go func() {
		_, err := c.Read(make([]byte, 1))
		ended <- err
	}()
	require.NoError(t, c.Close())
	require.ErrorIs(t, <-ended, net.ErrClosed)
}

// Open fails if its context has ended, or ends while the daemon does not answer. It leaves nothing behind.
func TestContext(t *testing.T) {
	s := start(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := (&docker.Transport{Container: "box", Host: s.url}).Open(ctx)
	require.ErrorIs(t, err, context.Canceled)

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	ctx, cancel = context.WithCancel(t.Context())
	opened := make(chan error)
	go func() {
		_, err := (&docker.Transport{Container: "box", Host: "tcp://" + listener.Addr().String()}).Open(ctx)
		opened <- err
	}()
	conn, err := listener.Accept()
	require.NoError(t, err)
	cancel()
	require.ErrorIs(t, <-opened, context.Canceled)
	_, _ = io.Copy(io.Discard, conn) // until the client has closed the connection
	require.NoError(t, conn.Close())
}
