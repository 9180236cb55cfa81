// Package runctest starts containers for tests with runc, or with docker or podman if ACPTERM_TEST_CONTAINERS names it
// and its daemon runs. Their whole root file system is busybox. It works only on Linux and as root. Elsewhere, and if
// the program or a static busybox is missing, tests are skipped, or fail if ACPTERM_REQUIRE_RUNC or
// ACPTERM_TEST_CONTAINERS is set.
package runctest

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"testing"
)

// isRequired is the variable that turns skipped tests into failures.
const isRequired = "ACPTERM_REQUIRE_RUNC"

// Engine returns "docker" or "podman" if containers are theirs, or "".
func Engine() string { return os.Getenv("ACPTERM_TEST_CONTAINERS") }

// Container is a running container. It has separate namespaces (pid, mount, network, ipc, uts), root with Docker's
// default capabilities, and busybox in /bin. Its process 1 does not reap orphans, as usual in containers. It ends with
// the test, and also when the test's process ends.
type Container struct {
	// ID is its name.
	ID string
	// PID is the number of its process 1 on this system.
	PID int
	// Root is the directory of its root file system, writable from inside and outside. /root is the home directory, and
	// /tmp exists.
	Root string

	line, exec []string // the program and its options; its subcommand that runs a command
	resume     string   // the subcommand that ends a pause
	stop       func()
}

// CommandLine returns a command line that runs the given command in the container. The default is sh.
func (c *Container) CommandLine(command ...string) []string {
	if len(command) == 0 {
		command = []string{"sh"}
	}
	return slices.Concat(c.line, c.exec, command)
}

// Pause freezes the container's processes, calls during, and lets them continue.
func (c *Container) Pause(t testing.TB, during func()) {
	c.run(t, "pause", c.ID)
	during()
	c.run(t, c.resume, c.ID)
}

// command returns a command of the program that runs the container, with its standard error in a buffer.
func (c *Container) command(args ...string) (cmd *exec.Cmd, stderr *bytes.Buffer) {
	cmd, stderr = exec.Command(c.line[0], slices.Concat(c.line[1:], args)...), new(bytes.Buffer)
	cmd.Stderr = stderr
	return cmd, stderr
}

// run runs such a command, and returns its standard output.
func (c *Container) run(t testing.TB, args ...string) []byte {
	t.Helper()
	cmd, stderr := c.command(args...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q: %v: %s", args, err, stderr)
	}
	return out
}

// Stop ends the container and all its processes, and returns when they are gone. Only the first call has an effect.
func (c *Container) Stop() { c.stop() }

// skip skips the test, or fails it if containers are required.
func skip(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv(isRequired) != "" || Engine() != "" {
		t.Fatal("containers are required, and " + reason)
	}
	t.Skip(reason + " (" + isRequired + " makes this a failure)")
}
