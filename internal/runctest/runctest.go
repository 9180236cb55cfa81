// Package runctest starts containers for tests with runc. Their whole root file system is busybox. It works only on
// Linux and as root. Elsewhere, and if runc or a static busybox is missing, tests are skipped, or fail if
// ACPTERM_REQUIRE_RUNC is set.
package runctest

import (
	"os"
	"testing"
)

// isRequired is the variable that turns skipped tests into failures.
const isRequired = "ACPTERM_REQUIRE_RUNC"

// Container is a running container. It has separate namespaces (pid, mount, network, ipc, uts), root with Docker's
// default capabilities, and busybox in /bin. Its process 1 does not reap orphans, as usual in containers. It ends with
// the test, and also when the test's process ends.
type Container struct {
	// ID is its name in runc.
	ID string
	// Root is the directory of its root file system, writable from inside and outside. /root is the home directory, and
	// /tmp exists.
	Root string

	state string
	stop  func()
}

// CommandLine returns a command line that runs the given command in the container. The default is sh.
func (c *Container) CommandLine(command ...string) []string {
	if len(command) == 0 {
		command = []string{"sh"}
	}
	return append([]string{"runc", "--root", c.state, "exec", c.ID}, command...)
}

// Stop ends the container and all its processes, and returns when they are gone. Only the first call has an effect.
func (c *Container) Stop() { c.stop() }

// skip skips the test, or fails it if containers are required.
func skip(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv(isRequired) != "" {
		t.Fatal(isRequired + " is set, and " + reason)
	}
	t.Skip(reason + " (" + isRequired + " makes this a failure)")
}
