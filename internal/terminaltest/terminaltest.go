// Package terminaltest has the tests of output, exit, kill, release, limits, sessions and policies that apply wherever
// commands run: on the local system, and on every remote system of module remote. Only tests import it.
//
// A remote system differs from the local one as follows. The tests check or skip these points:
//
//   - A program or directory removed between the decision and the start has changed, which is denied. On the local
//     system the error is a command that is not found, or a directory that does not exist.
//   - EndEvent.CPUTime and PeakMemory are zero.
//   - PTYs, Sandbox, Cgroup, KeepDetached and the journal are not available.
//   - If neither the request nor the options name a directory, a command runs in the remote side's directory.
//     Without CommandOptions.Env it gets the remote side's variables, and none of this process's.
package terminaltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/longtest"
	"github.com/acpterm/acpterm/internal/terminaltest/children"
	"github.com/stretchr/testify/require"
)

// SecretVariable is in this process's environment when it connects to a place that is not Local, but not in the
// environment of the command that connects.
const SecretVariable = "ACPTERM_TEST_SECRET"

// Place is a system that runs commands, with the means for its tests to reach it.
type Place struct {
	// NewManager returns a Manager whose commands run there. It closes the Manager when the test ends, and nothing may
	// be left then. If the options have no Env, the commands get the place's own environment.
	NewManager func(t testing.TB, options *acpterm.Options) *acpterm.Manager
	// Program is a program there that calls children.Main.
	Program string
	// TempDir makes a directory there for a test, and returns its path there, without symbolic links.
	TempDir func(t testing.TB) string
	// Root is the local directory of the place's root file system, or empty if its files are at the same paths.
	Root string
	// UID is the user that runs the commands and owns the created files, or 0 for the test's own user.
	UID int
	// Process returns the state of a process there, as abbreviated by ps, and its start time. Both are empty if it does
	// not exist.
	Process func(pid int) (state, started string)
	// Nasty lists the children that leave processes that can be found there. InTime lists those of them whose trees are
	// found only while they have a parent.
	Nasty  []string
	InTime map[string]bool
	// CannotAsk is true if commands cannot be asked to end in the place. Kills are then forced immediately.
	CannotAsk bool
	// NeedsEndsInTheMiddle skips a test that ends a process while it creates another one, where that does not work. If
	// nil, it works.
	NeedsEndsInTheMiddle func(testing.TB)
	// Local is true for the system that the test itself runs on, without a Runner.
	Local bool
	// Resembles is true for a place whose user and connection other places also have. Only the tests of output and
	// exits run there, except in .ci/long.
	Resembles bool
}

// test is a test and the name it runs under.
type test struct {
	name string
	run  func(*testing.T, Place)
}

// Run runs every test in a place, or only the necessary ones. Given several equivalent places, it runs tests in them in
// parallel.
func Run(t *testing.T, places ...Place) {
	groups := [][]test{
		outputTests(), exitTests(), managerTests(), policyTests(), errorTests(), limitTests(), systemTests(),
	}
	if places[0].Resembles && !longtest.Is() {
		groups = groups[:2]
	}
	free := make(chan Place, len(places))
	for _, p := range places {
		free <- p
	}
	for _, group := range groups {
		for _, test := range group {
			t.Run(test.name, func(t *testing.T) {
				if len(places) > 1 {
					t.Parallel()
				}
				p := <-free
				t.Cleanup(func() { free <- p }) // after those of the test
				test.run(t, p)
			})
		}
	}
}

// path returns the local path of a file of the place.
func (p Place) path(name string) string {
	if p.Root == "" {
		return name
	}
	return filepath.Join(p.Root, name)
}

// made gives a file made locally to the place's user.
func (p Place) made(name string, err error) error {
	if err != nil || p.UID == 0 {
		return err
	}
	return os.Lchown(p.path(name), p.UID, p.UID)
}

func (p Place) writeFile(name string, text []byte, mode os.FileMode) error {
	return p.made(name, os.WriteFile(p.path(name), text, mode))
}

func (p Place) mkdir(name string, mode os.FileMode) error {
	return p.made(name, os.Mkdir(p.path(name), mode))
}

func (p Place) mkdirAll(name string, mode os.FileMode) error {
	if _, err := os.Stat(p.path(name)); err == nil {
		return nil
	}
	if err := p.mkdirAll(filepath.Dir(name), mode); err != nil {
		return err
	}
	return p.mkdir(name, mode)
}

func (p Place) symlink(to, name string) error { return p.made(name, os.Symlink(to, p.path(name))) }

// real returns a path of the place with symbolic links resolved. A link in it must not be absolute if Root is set. Root
// may be /proc/PID/root, which filepath.EvalSymlinks would leave for the local root.
func (p Place) real(name string) (string, error) {
	if p.Root == "" {
		return filepath.EvalSymlinks(name)
	}
	real := "/"
	for parts := strings.Split(name[1:], "/"); len(parts) > 0; {
		next := filepath.Join(real, parts[0])
		parts = parts[1:]
		if to, err := os.Readlink(p.path(next)); err == nil && next != "/" { // relative
			parts = append(strings.Split(to, "/"), parts...)
		} else if real = next; err != nil && !errors.Is(err, syscall.EINVAL) { // not even a file
			return "", err
		}
	}
	return real, nil
}

func (p Place) remove(name string) error { return os.Remove(p.path(name)) }

func (p Place) removeAll(name string) error { return os.RemoveAll(p.path(name)) }

func (p Place) rename(from, to string) error { return os.Rename(p.path(from), p.path(to)) }

// Child returns a request for a child in session "s".
func (p Place) Child(name string, args ...string) acpterm.CreateTerminalRequest {
	return CommandRequest(p.Program, p.childArgs(name, args...)[1:]...)
}

func (p Place) childArgs(name string, args ...string) []string {
	return append([]string{p.Program, children.Mark, name}, args...)
}

// CommandRequest returns a request for a program, or a line, in session "s".
func CommandRequest(command string, args ...string) acpterm.CreateTerminalRequest {
	return acpterm.CreateTerminalRequest{SessionID: "s", Command: command, Args: args}
}

// ShellRequest returns a request for a line of sh, in session "s".
func ShellRequest(line string) acpterm.CreateTerminalRequest {
	return CommandRequest("/bin/sh", "-c", line)
}

// InSession returns the request for another session.
func InSession(session acpterm.SessionID, req acpterm.CreateTerminalRequest) acpterm.CreateTerminalRequest {
	req.SessionID = session
	return req
}

// Create starts a command and fails the test if it does not start.
func Create(t testing.TB, m *acpterm.Manager, req acpterm.CreateTerminalRequest,
	options ...*acpterm.CommandOptions) *acpterm.Terminal {
	t.Helper()
	var o *acpterm.CommandOptions
	if len(options) > 0 {
		o = options[0]
	}
	term, err := m.Create(t.Context(), req, o)
	require.NoError(t, err)
	return term
}

// CreateReady starts a command that prints "ready", and waits for that.
func CreateReady(t testing.TB, m *acpterm.Manager, req acpterm.CreateTerminalRequest,
	options ...*acpterm.CommandOptions) *acpterm.Terminal {
	t.Helper()
	term := Create(t, m, req, options...)
	AwaitOutput(t, term, "ready")
	return term
}

// Finish runs a command to its end.
func Finish(t testing.TB, m *acpterm.Manager, req acpterm.CreateTerminalRequest,
	options ...*acpterm.CommandOptions) *acpterm.Terminal {
	t.Helper()
	term := Create(t, m, req, options...)
	AwaitExit(t, term)
	return term
}

// RunToEnd runs a command to its end and returns its output.
func RunToEnd(t testing.TB, m *acpterm.Manager, req acpterm.CreateTerminalRequest) acpterm.TerminalOutputResponse {
	t.Helper()
	return Finish(t, m, req).Output()
}

// AwaitExit waits for a command's end.
func AwaitExit(t testing.TB, term *acpterm.Terminal) acpterm.TerminalExitStatus {
	t.Helper()
	status, err := term.Wait(t.Context())
	require.NoError(t, err)
	return status
}

// AwaitOutput follows a terminal until its output contains the text.
func AwaitOutput(t testing.TB, term *acpterm.Terminal, text string) {
	t.Helper()
	last := "" // enough of the output to find the text across chunks
	for chunk := range term.Follow(t.Context(), 0) {
		last += chunk.Text
		if strings.Contains(last, text) {
			return
		}
		last = last[max(0, len(last)-len(text)):]
	}
	require.Fail(t, "this was never printed", "%q; the output is %q", text, term.Output().Output)
}

// killedBy returns the signal in the status of a killed command that does not handle signals.
func (p Place) killedBy() string {
	if p.CannotAsk {
		return "SIGKILL" // immediately
	}
	return "SIGTERM"
}

// needsAsking is for tests that ask commands to end.
func (p Place) needsAsking(t testing.TB) {
	t.Helper()
	if p.CannotAsk {
		t.Skip("commands cannot be asked to end here")
	}
}

func (p Place) needsEndsInTheMiddle(t testing.TB) {
	t.Helper()
	if p.NeedsEndsInTheMiddle != nil {
		p.NeedsEndsInTheMiddle(t)
	}
}

// EndedBy returns the field of a status that names the cause of the command's end.
func EndedBy(by acpterm.EndedBy) acpterm.Meta {
	return acpterm.Meta{"acpterm": json.RawMessage(fmt.Sprintf(`{"endedBy":%q}`, by))}
}

// askFor returns an escalation that asks a command to end, and waits that long before it uses force.
func askFor(wait time.Duration) []acpterm.EscalationStep {
	return []acpterm.EscalationStep{{Signal: syscall.SIGTERM, Wait: wait}}
}

// Unattended returns the default of CommandOptions.Unattended.
func Unattended() []string {
	return []string{
		"PAGER=cat", "GIT_PAGER=cat", "EDITOR=cat", "VISUAL=cat", "GIT_EDITOR=sed /^#/d", "GIT_TERMINAL_PROMPT=0",
		"PYTHONUNBUFFERED=1", "NO_COLOR=1", "TERM=dumb",
	}
}
