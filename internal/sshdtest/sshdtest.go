// Package sshdtest starts OpenSSH's sshd for tests, on loopback, with keys and a configuration of its own. Only on
// Linux; tests are skipped elsewhere and where sshd or ssh is missing, or fail there if ACPTERM_REQUIRE_SSHD is set.
package sshdtest

import (
	"bytes"
	"net"
	"os"
	"sync"
	"testing"
)

// isRequired is the variable that makes failures of what would be skipped.
const isRequired = "ACPTERM_REQUIRE_SSHD"

// Server is a running sshd. It ends with the test, and with the process of the test.
type Server struct {
	// Address is "127.0.0.1:<port>".
	Address string
	// User is the one that the test runs as. OtherUser is not root, has the shell /bin/sh, and is known to sshd and its
	// children only; it is empty where the test does not run as root. Both log in with KeyFile, and have an empty home
	// directory, without start-up files.
	User, OtherUser string
	// KeyFile is a private ed25519 key without a passphrase. Its public half is in the file of this name with ".pub".
	KeyFile string
	// KnownHosts is a file with both keys of the server.
	KnownHosts string
	// HostKeys are the files of the server's public keys by type, "ed25519" and "ecdsa".
	HostKeys map[string]string
	// Dir has all that and belongs to the server. Any user can read it.
	Dir string

	log  log
	kill func()
}

// CommandLine returns OpenSSH's client with what it needs to log in as user, without any file of the user that the test
// runs as. The command for the far end can be appended.
func (s *Server) CommandLine(user string) []string {
	host, port, _ := net.SplitHostPort(s.Address)
	return []string{"ssh", "-F", "none", "-i", s.KeyFile, "-p", port,
		"-o", "UserKnownHostsFile=" + s.KnownHosts, "-o", "GlobalKnownHostsFile=none",
		"-o", "StrictHostKeyChecking=yes", "-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none",
		"-o", "BatchMode=yes", user + "@" + host}
}

// KillConnections sends SIGKILL to the sshd processes of all connections, which ends these. What the commands of the
// connections do then is up to them. The server goes on.
func (s *Server) KillConnections() { s.kill() }

// Log returns what sshd has logged so far.
func (s *Server) Log() string { return s.log.String() }

// skip skips the test, or fails it where sshd is required.
func skip(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv(isRequired) != "" {
		t.Fatal(isRequired + " is set, and " + reason)
	}
	t.Skip(reason + " (" + isRequired + " makes this a failure)")
}

// log keeps what is written to it. It is safe for concurrent use.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
