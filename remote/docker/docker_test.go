package docker_test

// Shells by exec, with the server of server_test.go.

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/leaktest"
	"github.com/acpterm/acpterm/internal/shelltest"
	"github.com/acpterm/acpterm/remote/docker"
)

// start starts a server. When the test ends, nothing of its connections may remain.
func start(t *testing.T) *server {
	t.Helper()
	t.Cleanup(func() { requireNoGoroutines(t) })
	return startServer(t)
}

// transport opens shells in the server's container.
func (s *server) transport() *docker.Transport {
	return &docker.Transport{Container: s.box, Host: s.url}
}

// requireNoGoroutines fails the test if goroutines of connections or of net/http remain.
func requireNoGoroutines(t *testing.T) {
	t.Helper()
	code := regexp.MustCompile(`remote/docker\.|net/http\.`)
	require.Empty(t, leaktest.Stacks(code.MatchString), "goroutines are left")
}

func TestBytes(t *testing.T) {
	shelltest.Open(t, start(t).transport()).TestBytes(8 << 20)
}

// The daemon is the one of the environment unless another one is given, and receives the options.
func TestOptions(t *testing.T) {
	s := start(t)
	t.Setenv("DOCKER_HOST", s.url)
	c := shelltest.Open(t, &docker.Transport{
		Container: s.box, User: "1000:1001", WorkingDir: "/dev", Env: []string{"GREETING=good day"},
	})
	c.Say(`echo "$GREETING"; pwd`)
	c.Hear("good day\n/dev\n")
	if s.real != nil {
		c.Say("id -u; id -g")
		c.Hear("1000\n1001\n")
	} else {
		require.Equal(t, "1000:1001", s.requests()[0].User)
		require.False(t, s.requests()[0].Tty)
	}

	t.Setenv("DOCKER_HOST", "unix:///nothing")
	shelltest.Open(t, s.transport())
	_, err := (&docker.Transport{Container: "box"}).Open(t.Context())
	require.ErrorContains(t, err, "/nothing")
}

// Errors contain the daemon's refusal.
func TestRefusals(t *testing.T) {
	s := start(t)
	_, err := (&docker.Transport{Container: "other", Host: s.url}).Open(t.Context())
	require.ErrorContains(t, err, "o such container") // Podman writes "no"
	require.ErrorContains(t, err, "other")
	_, err = (&docker.Transport{Host: s.url}).Open(t.Context())
	require.ErrorContains(t, err, "Container is empty")
	_, err = (&docker.Transport{Container: "box", Host: "nonsense"}).Open(t.Context())
	require.ErrorContains(t, err, "nonsense")
}

// Docker does not report signals.
func TestExit(t *testing.T) {
	s := start(t)
	shelltest.TestExit(t, s.transport(), "container "+s.box, "exit status 137")
}

// The end of a container with its shell is no end of the output. Then, and if there is no sh, errors say so.
func TestContainerEnds(t *testing.T) {
	s := start(t)
	if s.real == nil {
		t.Skip("takes a real daemon")
	}
	c := shelltest.Open(t, s.transport())
	c.Say("echo ready; exec cat")
	c.Hear("ready\n")
	require.NoError(t, os.Remove(filepath.Join(s.real.Root, "bin/sh")))
	none, err := s.transport().Open(t.Context())
	var out []byte
	if err == nil { // Docker writes the reason to the output, Podman to the standard error
		out, err = io.ReadAll(none)
		require.NoError(t, none.Close())
	}
	require.Error(t, err)
	require.Contains(t, string(out)+err.Error(), "not found in $PATH")
	s.real.Stop()
	_, err = c.Read(make([]byte, 1))
	require.ErrorContains(t, err, s.box) // not only io.EOF
	_, err = s.transport().Open(t.Context())
	require.ErrorContains(t, err, "o such container")
}

// Read and Write fail if the connection is cut while the shell runs, although this looks like the end of the output.
func TestConnectionLost(t *testing.T) {
	s := start(t)
	c := shelltest.Open(t, s.transport())
	c.Say("echo ready; exec sleep 1000")
	c.Hear("ready\n")
	s.breakStreams()
	_, err := c.Read(make([]byte, 1))
	require.ErrorContains(t, err, "the connection is lost")
	require.NotErrorIs(t, err, io.EOF)
	_, err = c.Write([]byte("x"))
	require.ErrorContains(t, err, "the connection is lost")

	c = shelltest.Open(t, s.transport())
	c.Say("echo ready; exec cat")
	c.Hear("ready\n")
	s.stop() // stops the whole daemon
	_, err = c.Read(make([]byte, 1))
	require.ErrorContains(t, err, "the connection is lost")
}

// Close ends a waiting Read and a waiting Write, even if nothing reads the output, and ends the shell's input.
func TestClose(t *testing.T) {
	s := start(t)
	c := shelltest.Open(t, s.transport())
	c.Say("exec sh -c 'echo ready; read x; exec cat'")
	c.Hear("ready\n")
	c.Say("")
	ended := make(chan error)
	go func() {
		for {
			if _, err := c.Write(make([]byte, 1<<20)); err != nil {
				ended <- err
				return
			}
		}
	}()
	c.Hear("\x00")
	require.NoError(t, c.Close())
	require.ErrorIs(t, <-ended, net.ErrClosed)
	_, err := c.Read(make([]byte, 1))
	require.ErrorIs(t, err, net.ErrClosed)
	require.NoError(t, c.Close())
	s.runs.Wait() // the shell has ended

	c = shelltest.Open(t, s.transport())
	go func() {
		_, err := c.Read(make([]byte, 1))
		ended <- err
	}()
	require.NoError(t, c.Close())
	require.ErrorIs(t, <-ended, net.ErrClosed)
}

func TestContext(t *testing.T) {
	shelltest.TestContext(t, start(t).transport(), func(address string) shelltest.Transport {
		return &docker.Transport{Container: "box", Host: "tcp://" + address}
	})
}
