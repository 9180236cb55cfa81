// Package sshdtest starts OpenSSH's sshd for tests, on loopback, with separate keys and a separate configuration. It
// works only on Linux. Elsewhere, and if sshd or ssh is missing, tests are skipped, or fail if ACPTERM_REQUIRE_SSHD is
// set.
package sshdtest

import (
	"net"
	"os"
	"testing"

	"github.com/acpterm/acpterm/internal/racetest"
)

// isRequired is the variable that turns skipped tests into failures.
const isRequired = "ACPTERM_REQUIRE_SSHD"

// Server is a running sshd. It ends with the test, and also when the test's process ends.
type Server struct {
	// Address is "127.0.0.1:<port>".
	Address string
	// User is the user that runs the test. OtherUser is not root, has the shell /bin/sh, and is known only to sshd and
	// its children. It is empty if the test does not run as root. Both log in with KeyFile, and have an empty home
	// directory without start-up files.
	User, OtherUser string
	// KeyFile is a private ed25519 key without a passphrase. Its public half is in the file of this name with ".pub".
	KeyFile string
	// KnownHosts is a file with both keys of the server.
	KnownHosts string
	// HostKeys holds the files of the server's public keys by type, "ed25519" and "ecdsa".
	HostKeys map[string]string
	// Dir contains all of these and belongs to the server. Any user can read it.
	Dir string

	log  racetest.Buffer
	kill func()
}

// CommandLine returns a command line of OpenSSH's client that logs in as user, without using files of the test's user.
// The remote command can be appended.
func (s *Server) CommandLine(user string) []string {
	host, port, _ := net.SplitHostPort(s.Address)
	return []string{"ssh", "-F", "none", "-i", s.KeyFile, "-p", port,
		"-o", "UserKnownHostsFile=" + s.KnownHosts, "-o", "GlobalKnownHostsFile=none",
		"-o", "StrictHostKeyChecking=yes", "-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none",
		"-o", "BatchMode=yes", user + "@" + host}
}

// KillConnections sends SIGKILL to the sshd processes of all connections, which ends the connections. Their commands
// may continue. The server keeps running.
func (s *Server) KillConnections() { s.kill() }

// Log returns sshd's log up to now.
func (s *Server) Log() string { return s.log.String() }

// skip skips the test, or fails it if sshd is required.
func skip(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv(isRequired) != "" {
		t.Fatal(isRequired + " is set, and " + reason)
	}
	t.Skip(reason + " (" + isRequired + " makes this a failure)")
}
