package ssh_test

// Shells of a real sshd.

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/longtest"
	"github.com/acpterm/acpterm/internal/sshdtest"
	"github.com/acpterm/acpterm/remote/ssh"
)

// shell is the type of the value returned by Open.
type shell interface {
	io.ReadWriteCloser
	CloseWrite() error
}

// start starts a server. When the test ends, nothing of its connections may remain.
func start(t *testing.T) *sshdtest.Server {
	t.Helper()
	t.Cleanup(func() { requireNoGoroutines(t) })
	return sshdtest.Start(t)
}

// transportTo returns a Transport that logs in to the server with its key file.
func transportTo(t *testing.T, s *sshdtest.Server) *ssh.Transport {
	t.Helper()
	t.Setenv("HOME", t.TempDir()) // hides the files of the user that runs the test
	t.Setenv("SSH_AUTH_SOCK", "")
	return &ssh.Transport{
		Host:       s.Address,
		User:       s.User,
		KnownHosts: []string{s.KnownHosts},
		Identities: []string{s.KeyFile},
	}
}

// open opens a shell and closes it when the test ends.
func open(t *testing.T, transport *ssh.Transport) shell {
	t.Helper()
	c, err := transport.Open(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c.(shell)
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

// hearProcess reads a line with the number of a process.
func hearProcess(t *testing.T, c io.Reader) *os.Process {
	t.Helper()
	line := make([]byte, 0, 16)
	for len(line) == 0 || line[len(line)-1] != '\n' {
		n, err := c.Read(line[len(line) : len(line)+1])
		require.NoError(t, err)
		line = line[:len(line)+n]
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(line)))
	require.NoError(t, err)
	process, err := os.FindProcess(pid)
	require.NoError(t, err)
	return process
}

// requireNoGoroutines fails the test if goroutines of connections remain. Goroutines of golang.org/x/crypto/ssh may
// need a moment to end, so it waits for that, but not forever.
func requireNoGoroutines(t *testing.T) {
	t.Helper()
	var found []string
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); runtime.Gosched() {
		buf := make([]byte, 1<<20)
		found = nil
		for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			if strings.Contains(stack, "/ssh.") && !strings.Contains(stack, "requireNoGoroutines") {
				found = append(found, stack)
			}
		}
		if len(found) == 0 {
			return
		}
	}
	require.Empty(t, found, "goroutines are left")
}

// Bytes arrive unchanged in both directions, for every user.
func TestBytes(t *testing.T) {
	s := start(t)
	for _, user := range []string{s.User, s.OtherUser} {
		if user == "" {
			continue // the test does not run as root
		}
		transport := transportTo(t, s)
		transport.User = user
		c := open(t, transport)
		say(t, c, "exec sh -c 'id -un; exec cat'")
		hear(t, c, user+"\n")
		data := make([]byte, longtest.Times(4<<20, 8<<20)) // more than the window of a channel, 2 MiB
		_, _ = rand.Read(data)
		go func() {
			_, err := c.Write(data)
			require.NoError(t, errors.Join(err, c.CloseWrite()))
		}()
		got, err := io.ReadAll(c)
		require.NoError(t, err)
		require.Equal(t, len(data), len(got))
		require.True(t, string(data) == string(got), "other bytes arrived")
	}
}

// The default of User is the user that runs the test. Shells of one Transport are independent.
func TestSeveral(t *testing.T) {
	s := start(t)
	transport := transportTo(t, s)
	transport.User = ""
	one, two := open(t, transport), open(t, transport)
	for _, c := range []shell{one, two} {
		say(t, c, "x=${x:-0}; x=$((x + 1)); id -un; echo $x")
		hear(t, c, s.User+"\n1\n")
	}
	require.NoError(t, one.Close())
	say(t, two, "echo $((x + 1))")
	hear(t, two, "2\n")
}

// The error at the shell's end has its exit status and the end of its standard error.
func TestExit(t *testing.T) {
	s := start(t)
	for _, test := range []struct{ line, want string }{
		{"exit 3", "the shell has ended with exit status 3"},
		{"echo first >&2; head -c 10000 /dev/zero >&2; echo last >&2; exit 4", "last"},
		{"nothing-of-this-name", "nothing-of-this-name: "},
		{"kill -KILL $$", `the shell has ended with signal "SIGKILL"`},
	} {
		c := open(t, transportTo(t, s))
		say(t, c, test.line)
		require.NoError(t, c.CloseWrite())
		_, err := io.ReadAll(c)
		require.ErrorContains(t, err, test.want)
		require.ErrorContains(t, err, s.User+"@"+s.Address)
		require.NotContains(t, err.Error(), "first")
		require.Less(t, len(err.Error()), 5000)
	}
	c := open(t, transportTo(t, s))
	say(t, c, "exit 0")
	out, err := io.ReadAll(c)
	require.NoError(t, err)
	require.Empty(t, out)
	_, err = c.Write([]byte("x"))
	require.ErrorIs(t, err, io.ErrClosedPipe)
}

// Read and Write fail when the connection ends.
func TestServerKilled(t *testing.T) {
	s := start(t)
	c := open(t, transportTo(t, s))
	say(t, c, "echo ready; exec cat")
	hear(t, c, "ready\n")
	read := make(chan error)
	go func() {
		_, err := c.Read(make([]byte, 1))
		read <- err
	}()
	s.KillConnections()
	err := <-read
	require.ErrorContains(t, err, "connection")
	require.NotErrorIs(t, err, io.EOF)
	_, err = c.Write([]byte("x"))
	require.ErrorContains(t, err, "connection")
	require.NotErrorIs(t, err, io.ErrClosedPipe)
}

// Close ends a waiting Read and a waiting Write, whatever the remote side does.
func TestClose(t *testing.T) {
	s := start(t)
	c := open(t, transportTo(t, s))
	say(t, c, "exec sh -c 'echo ready; read x; echo $$; exec sleep 1000'")
	hear(t, c, "ready\n")
	say(t, c, "")
	process := hearProcess(t, c)
	defer func() { require.NoError(t, process.Signal(syscall.SIGTERM)) }()
	ended := make(chan error)
	go func() {
		_, err := c.Read(make([]byte, 1))
		ended <- err
	}()
	go func() {
		for {
			if _, err := c.Write(make([]byte, 1<<20)); err != nil {
				ended <- err
				return
			}
		}
	}()
	require.NoError(t, c.Close())
	require.ErrorIs(t, <-ended, net.ErrClosed)
	require.ErrorIs(t, <-ended, net.ErrClosed)
	require.NoError(t, c.Close())
}

// Close does not wait for background processes of the shell that hold its output.
func TestCloseWithBackgroundProcess(t *testing.T) {
	s := start(t)
	c := open(t, transportTo(t, s))
	say(t, c, "sleep 1000 & echo $!; exit 0")
	process := hearProcess(t, c)
	require.NoError(t, c.Close())
	require.NoError(t, process.Signal(syscall.SIGTERM), "it was ended")
}

// Open fails if its context has ended, or ends during the handshake. It leaves nothing behind.
func TestContext(t *testing.T) {
	s := start(t)
	transport := transportTo(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := transport.Open(ctx)
	require.ErrorIs(t, err, context.Canceled)

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	transport.Host = listener.Addr().String()
	ctx, cancel = context.WithCancel(t.Context())
	opened := make(chan error)
	go func() {
		_, err := transport.Open(ctx)
		opened <- err
	}()
	accepted, err := listener.Accept()
	require.NoError(t, err)
	cancel()
	require.ErrorIs(t, <-opened, context.Canceled)
	_, err = io.Copy(io.Discard, accepted) // until the client has closed the connection
	require.NoError(t, err)
	require.NoError(t, accepted.Close())

	ctx, cancel = context.WithCancel(t.Context())
	c, err := transportTo(t, s).Open(ctx)
	require.NoError(t, err)
	cancel() // no effect after Open
	say(t, c, "echo ready")
	hear(t, c, "ready\n")
	require.NoError(t, c.Close())
}
