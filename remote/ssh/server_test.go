package ssh_test

// Servers that violate the protocol.

import (
	"crypto/ed25519"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	xssh "golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/acpterm/acpterm/internal/shelltest"
	"github.com/acpterm/acpterm/remote/ssh"
)

// serve handles one connection. It calls session when the client requests a shell. It returns the server's address and
// a file with its key.
func serve(t *testing.T, session func(shell xssh.Channel, request *xssh.Request)) *ssh.Transport {
	t.Helper()
	t.Cleanup(func() { requireNoGoroutines(t) })
	_, private, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	key, err := xssh.NewSignerFromKey(private)
	require.NoError(t, err)
	config := &xssh.ServerConfig{NoClientAuth: true}
	config.AddHostKey(key)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan struct{})
	t.Cleanup(func() {
		require.NoError(t, listener.Close())
		<-served
	})
	go func() {
		defer close(served)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		_, channels, requests, err := xssh.NewServerConn(conn, config)
		if err != nil {
			return
		}
		go xssh.DiscardRequests(requests)
		for channel := range channels {
			shell, requests, err := channel.Accept()
			if err == nil {
				session(shell, <-requests)
				xssh.DiscardRequests(requests)
			}
		}
	}()
	address := listener.Addr().String()
	file := filepath.Join(t.TempDir(), "known_hosts")
	require.NoError(t, os.WriteFile(file, []byte(knownhosts.Line([]string{address}, key.PublicKey())), 0o600))
	return &ssh.Transport{Host: address, KnownHosts: []string{file}, Agent: "none"}
}

// Malformed requests disturb neither the shell nor Close.
func TestMalformedRequests(t *testing.T) {
	c := shelltest.Open(t, serve(t, func(shell xssh.Channel, request *xssh.Request) {
		_ = request.Reply(true, nil)
		for range 100 {
			_, _ = shell.SendRequest("exit-status", false, []byte("x"))
			_, _ = shell.SendRequest("exit-signal", false, nil)
		}
		_, _ = io.WriteString(shell, "ready\n")
	}))
	c.Hear("ready\n")
	require.NoError(t, c.Close())
}

// A server that runs nothing, and a server that closes the shell without a reason.
func TestNoShell(t *testing.T) {
	_, err := serve(t, func(_ xssh.Channel, request *xssh.Request) { _ = request.Reply(false, nil) }).Open(t.Context())
	require.ErrorContains(t, err, "the server refuses to run sh")

	c := shelltest.Open(t, serve(t, func(shell xssh.Channel, request *xssh.Request) {
		_ = request.Reply(true, nil)
		_ = shell.Close()
	}))
	_, err = c.Read(make([]byte, 1))
	require.ErrorContains(t, err, "the shell has closed its output")
}
