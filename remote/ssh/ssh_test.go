package ssh_test

// Shells of a real sshd.

import (
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/leaktest"
	"github.com/acpterm/acpterm/internal/longtest"
	"github.com/acpterm/acpterm/internal/racetest"
	"github.com/acpterm/acpterm/internal/shelltest"
	"github.com/acpterm/acpterm/internal/sshdtest"
	"github.com/acpterm/acpterm/remote/ssh"
)

func TestMain(m *testing.M) { racetest.Main(m) }

// start starts a server. When the test ends, nothing of its connections may remain.
func start(t *testing.T, config ...string) *sshdtest.Server {
	t.Helper()
	t.Cleanup(func() { requireNoGoroutines(t) })
	return sshdtest.Start(t, config...)
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

// requireNoGoroutines fails the test if goroutines of connections remain.
func requireNoGoroutines(t *testing.T) {
	t.Helper()
	found := leaktest.Stacks(func(stack string) bool { return strings.Contains(stack, "/ssh.") })
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
		c := shelltest.Open(t, transport)
		c.Say("id -un")
		c.Hear(user + "\n")
		c.TestBytes(longtest.Times(4<<20, 8<<20)) // more than the window of a channel, 2 MiB
	}
}

// The default of User is the user that runs the test. Shells of one Transport are independent.
func TestSeveral(t *testing.T) {
	s := start(t)
	transport := transportTo(t, s)
	transport.User = ""
	one, two := shelltest.Open(t, transport), shelltest.Open(t, transport)
	for _, c := range []*shelltest.Shell{one, two} {
		c.Say("x=${x:-0}; x=$((x + 1)); id -un; echo $x")
		c.Hear(s.User + "\n1\n")
	}
	require.NoError(t, one.Close())
	two.Say("echo $((x + 1))")
	two.Hear("2\n")
}

func TestExit(t *testing.T) {
	s := start(t)
	shelltest.TestExit(t, transportTo(t, s), s.User+"@"+s.Address, `the shell has ended with signal "SIGKILL"`)
}

// Read and Write fail when the connection ends.
func TestServerKilled(t *testing.T) {
	s := start(t)
	c := shelltest.Open(t, transportTo(t, s))
	c.Say("echo ready; exec cat")
	c.Hear("ready\n")
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
	c := shelltest.Open(t, transportTo(t, s))
	c.Say("exec sh -c 'echo ready; read x; echo $$; exec sleep 1000'")
	c.Hear("ready\n")
	c.Say("")
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
	c := shelltest.Open(t, transportTo(t, s))
	c.Say("sleep 1000 & echo $!; exit 0")
	process := hearProcess(t, c)
	require.NoError(t, c.Close())
	require.NoError(t, process.Signal(syscall.SIGTERM), "it was ended")
}

func TestContext(t *testing.T) {
	s := start(t)
	shelltest.TestContext(t, transportTo(t, s), func(address string) shelltest.Transport {
		transport := transportTo(t, s)
		transport.Host = address
		return transport
	})
}
