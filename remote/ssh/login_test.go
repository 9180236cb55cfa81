package ssh_test

// Keys of servers and users.

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	xssh "golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/acpterm/acpterm/internal/shelltest"
	"github.com/acpterm/acpterm/internal/sshdtest"
	"github.com/acpterm/acpterm/remote/ssh"
)

// keygen creates a key, with a passphrase unless it is empty, and returns its file. An RSA key of 2048 bits is quick to
// create, and also to read: the passphrase is hashed once.
func keygen(t *testing.T, kind, passphrase string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "id_"+kind)
	line := []string{"-q", "-t", kind, "-a", "1", "-N", passphrase, "-f", file}
	if kind == "rsa" {
		line = append(line, "-b", "2048")
	}
	out, err := exec.Command("ssh-keygen", line...).CombinedOutput()
	require.NoError(t, err, string(out))
	return file
}

// publicKey reads a file with the extension ".pub".
func publicKey(t *testing.T, file string) xssh.PublicKey {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	key, _, _, _, err := xssh.ParseAuthorizedKey(text)
	require.NoError(t, err)
	return key
}

// authorize makes the server accept a key.
func authorize(t *testing.T, s *sshdtest.Server, file string) {
	t.Helper()
	text, err := os.ReadFile(file + ".pub")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(s.Dir, "authorized_keys"), text, 0o644))
}

// knownHosts writes a known hosts file with these keys for the server.
func knownHosts(t *testing.T, s *sshdtest.Server, keys ...xssh.PublicKey) string {
	t.Helper()
	lines := "# none other\n"
	for _, key := range keys {
		lines += knownhosts.Line([]string{s.Address}, key) + "\n"
	}
	file := filepath.Join(t.TempDir(), "known_hosts")
	require.NoError(t, os.WriteFile(file, []byte(lines), 0o600))
	return file
}

// check opens a shell and closes it.
func check(t *testing.T, transport *ssh.Transport) {
	t.Helper()
	c := shelltest.Open(t, transport)
	c.Say("echo ready")
	c.Hear("ready\n")
}

// refusal returns the error of an Open that must fail.
func refusal(t *testing.T, transport *ssh.Transport) error {
	t.Helper()
	_, err := transport.Open(t.Context())
	require.Error(t, err)
	return err
}

// A server is accepted if any of its keys is known, and rejected otherwise.
func TestHostKeys(t *testing.T) {
	s := start(t)
	ed25519, ecdsa := publicKey(t, s.HostKeys["ed25519"]), publicKey(t, s.HostKeys["ecdsa"])
	other := publicKey(t, keygen(t, "ed25519", "")+".pub")
	rsa := publicKey(t, keygen(t, "rsa", "")+".pub")
	transport := transportTo(t, s)
	for _, keys := range [][]xssh.PublicKey{{ed25519}, {ecdsa}, {rsa, ed25519}, {other, ed25519}} {
		transport.KnownHosts = []string{knownHosts(t, s), knownHosts(t, s, keys...)}
		check(t, transport)
	}
	for _, test := range []struct {
		known []xssh.PublicKey
		shown xssh.PublicKey // if nil, either key
		text  string
	}{
		{nil, nil, "is not known"},
		{[]xssh.PublicKey{other}, ed25519, "has changed"},
		{[]xssh.PublicKey{rsa}, nil, "has changed"},
	} {
		file := knownHosts(t, s, test.known...)
		transport.KnownHosts = []string{file}
		err := refusal(t, transport)
		var hostKey *ssh.HostKeyError
		require.ErrorAs(t, err, &hostKey)
		shown := test.shown
		if shown == nil {
			shown = map[string]xssh.PublicKey{ed25519.Type(): ed25519, ecdsa.Type(): ecdsa}[hostKey.KeyType]
		}
		require.Equal(t, shown.Type(), hostKey.KeyType)
		require.Equal(t, xssh.FingerprintSHA256(shown), hostKey.Fingerprint)
		require.Equal(t, knownhosts.Normalize(s.Address), hostKey.Host)
		require.Equal(t, []string{file}, hostKey.Files)
		if test.known != nil {
			require.Equal(t, []string{file + ":2"}, hostKey.Known)
		}
		for _, part := range []string{test.text, hostKey.Host, hostKey.Fingerprint, file} {
			require.ErrorContains(t, err, part)
		}
	}
}

// A revoked key is rejected even if it is known.
func TestRevokedHostKey(t *testing.T) {
	s := start(t)
	key := publicKey(t, s.HostKeys["ed25519"])
	file := knownHosts(t, s, key)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	text = append(text, "@revoked * "+string(xssh.MarshalAuthorizedKey(key))...)
	require.NoError(t, os.WriteFile(file, text, 0o600))
	transport := transportTo(t, s)
	transport.KnownHosts = []string{file}
	err = refusal(t, transport)
	require.ErrorAs(t, err, new(*ssh.HostKeyError))
	require.ErrorAs(t, err, new(*knownhosts.RevokedError))
	require.ErrorContains(t, err, "is revoked by "+file+":3")
}

// The default files are those in the user's home directory. They need not exist; given ones must.
func TestHome(t *testing.T) {
	s := start(t)
	transport := transportTo(t, s)
	transport.KnownHosts = nil
	home := filepath.Join(os.Getenv("HOME"), ".ssh")
	err := refusal(t, transport)
	require.ErrorAs(t, err, new(*ssh.HostKeyError))
	require.ErrorContains(t, err, filepath.Join(home, "known_hosts"))

	require.NoError(t, os.Mkdir(home, 0o700))
	require.NoError(t, os.Link(s.KnownHosts, filepath.Join(home, "known_hosts")))
	check(t, transport)

	transport.Identities = nil
	require.ErrorContains(t, refusal(t, transport), "no keys were offered")
	require.NoError(t, os.Link(s.KeyFile, filepath.Join(home, "id_ed25519")))
	check(t, transport)

	transport.Identities = []string{filepath.Join(home, "nothing")}
	require.ErrorIs(t, refusal(t, transport), fs.ErrNotExist)
	transport.Identities = nil
	transport.KnownHosts = []string{filepath.Join(home, "nothing")}
	require.ErrorIs(t, refusal(t, transport), fs.ErrNotExist)
}

// The error names a key that the server rejects.
func TestWrongKey(t *testing.T) {
	s := start(t)
	transport := transportTo(t, s)
	file := keygen(t, "ed25519", "")
	transport.Identities = []string{file}
	err := refusal(t, transport)
	for _, part := range []string{s.User + "@" + s.Address, file, xssh.FingerprintSHA256(publicKey(t, file+".pub"))} {
		require.ErrorContains(t, err, part)
	}
	require.NoError(t, os.WriteFile(file, []byte("no key"), 0o600))
	require.ErrorContains(t, refusal(t, transport), file)
}

// An encrypted key is decrypted with the passphrase, which is requested only if the server accepts the key.
func TestPassphrase(t *testing.T) {
	s := start(t)
	for _, kind := range []string{"ed25519", "rsa"} {
		file := keygen(t, kind, "secret")
		transport := transportTo(t, s)
		transport.Identities = []string{file}
		asked := 0
		secret, failure := "secret", error(nil)
		transport.Passphrase = func(_ context.Context, asksFor string) ([]byte, error) {
			require.Equal(t, file, asksFor)
			asked++
			return []byte(secret), failure
		}
		require.ErrorContains(t, refusal(t, transport), file)
		require.Zero(t, asked)

		authorize(t, s, file)
		check(t, transport)
		require.Equal(t, 1, asked)

		secret = "wrong"
		require.ErrorContains(t, refusal(t, transport), file)
		failure = errors.New("no answer")
		require.ErrorIs(t, refusal(t, transport), failure)

		transport.Passphrase = nil
		require.ErrorContains(t, refusal(t, transport), "not offered: "+file)
	}
}

// startAgent starts an agent that holds a key, and returns its socket.
func startAgent(t *testing.T, file, passphrase string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	key, err := xssh.ParseRawPrivateKey(text)
	if passphrase != "" {
		key, err = xssh.ParseRawPrivateKeyWithPassphrase(text, []byte(passphrase))
	}
	require.NoError(t, err)
	ring := agent.NewKeyring()
	require.NoError(t, ring.Add(agent.AddedKey{PrivateKey: key}))
	dir, err := os.MkdirTemp("", "agent-") // t.TempDir may be too long for a socket
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	socket := filepath.Join(dir, "s")
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, listener.Close()) })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				_ = agent.ServeAgent(ring, conn) // until the client closes it
				_ = conn.Close()
			}()
		}
	}()
	return socket
}

// The agent's keys are used, also instead of an encrypted file, but not if other files are given.
func TestAgent(t *testing.T) {
	s := start(t)
	for _, kind := range []string{"ed25519", "rsa"} {
		file := keygen(t, kind, "secret")
		authorize(t, s, file)
		transport := transportTo(t, s)
		transport.Identities = nil
		t.Setenv("SSH_AUTH_SOCK", startAgent(t, file, "secret"))
		check(t, transport)

		transport.Identities = []string{file}
		check(t, transport)
		transport.Agent = "none"
		require.ErrorContains(t, refusal(t, transport), file)

		transport.Agent = os.Getenv("SSH_AUTH_SOCK")
		t.Setenv("SSH_AUTH_SOCK", "")
		check(t, transport)
		transport.Identities = []string{s.KeyFile}
		require.NotContains(t, refusal(t, transport).Error(), "agent")
	}
	transport := transportTo(t, s)
	transport.Identities, transport.Agent = nil, filepath.Join(t.TempDir(), "nothing")
	require.ErrorContains(t, refusal(t, transport), transport.Agent)
}

// Open fails if its context ends while the agent does not answer.
func TestSilentAgent(t *testing.T) {
	s := start(t)
	transport := transportTo(t, s)
	socket := filepath.Join(s.Dir, "agent")
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	transport.Agent = socket
	ctx, cancel := context.WithCancel(t.Context())
	opened := make(chan error)
	go func() {
		_, err := transport.Open(ctx)
		opened <- err
	}()
	conn, err := listener.Accept()
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	cancel()
	require.ErrorIs(t, <-opened, context.Canceled)
}

// Host may have a port or not.
func TestHost(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	for host, want := range map[string]string{
		"127.0.0.1:0":     "127.0.0.1:0",
		"nothing.invalid": "nothing.invalid:22",
		"[::1]:0":         "[::1]:0",
		"::1":             "[::1]:22",
		"[::1]":           "[::1]:22",
	} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // no connection is attempted
		_, err := (&ssh.Transport{Host: host, User: "u"}).Open(ctx)
		require.ErrorIs(t, err, context.Canceled)
		require.True(t, strings.Contains(err.Error(), "u@"+want+": "), err)
	}
}
