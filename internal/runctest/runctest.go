// Package runctest starts containers for tests, by runc, with busybox as their whole root file system. Only on Linux
// and as root; tests are skipped elsewhere and where runc or a static busybox is missing, or fail there if
// ACPTERM_REQUIRE_RUNC is set.
package runctest

import (
	"os"
	"testing"
)

// isRequired is the variable that makes failures of what would be skipped.
const isRequired = "ACPTERM_REQUIRE_RUNC"

// Container is a running container. It has namespaces of its own (pid, mount, network, ipc, uts), root with the
// capabilities that Docker gives, and busybox in /bin. Its process 1 reaps no orphans, as usual in containers. It ends
// with the test, and when the process of the test ends.
type Container struct {
	// ID is its name for runc.
	ID string
	// Root is the directory that is its root file system, which can be written from both sides. /root is the home
	// directory, and /tmp is there.
	Root string

	state string
	stop  func()
}

// CommandLine returns a command line that runs the given command in the container, sh if there is none.
func (c *Container) CommandLine(command ...string) []string {
	if len(command) == 0 {
		command = []string{"sh"}
	}
	return append([]string{"runc", "--root", c.state, "exec", c.ID}, command...)
}

// Stop ends the container and all its processes, and returns when they are gone. Only the first call does something.
func (c *Container) Stop() { c.stop() }

// skip skips the test, or fails it where containers are required.
func skip(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv(isRequired) != "" {
		t.Fatal(isRequired + " is set, and " + reason)
	}
	t.Skip(reason + " (" + isRequired + " makes this a failure)")
}
