package acpterm_test

// The commands that tests run: the test binary itself, whose first argument says which child of package children, or
// of this package's own, to be. And the helpers of package terminaltest, for the tests of this system alone.

import (
	"flag"
	"maps"
	"os"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/leaktest"
	"github.com/acpterm/acpterm/internal/racetest"
	"github.com/acpterm/acpterm/internal/terminaltest"
	testchildren "github.com/acpterm/acpterm/internal/terminaltest/children"
)

var children = testchildren.All()

// runTests is a TestMain, of a binary that can also be one of the package's own children.
func runTests(m *testing.M, own map[string]func(args []string)) {
	maps.Copy(children, own)
	testchildren.Main(children)
	racetest.Restart()
	// What is parallel waits most of the time. What makes a manager is not: newManager looks at the whole process.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// here is this system as a place for terminaltest.
func here() terminaltest.Place {
	return terminaltest.Place{
		NewManager: func(t testing.TB, options *acpterm.Options) *acpterm.Manager {
			t.Helper()
			return newManager(t, options)
		},
		Program: executable(),
		TempDir: realTempDir,
		Local:   true,

		CannotAsk:            !leaktest.CanAsk(),
		NeedsEndsInTheMiddle: leaktest.NeedsEndsInTheMiddle,
	}
}

func childArgs(name string, args ...string) []string { return testchildren.Args(name, args...) }

func executable() string { return testchildren.Program() }

func number(s string) int { return testchildren.Number(s) }

// childRequest asks for a child in session "s".
func childRequest(name string, args ...string) acpterm.CreateTerminalRequest {
	return here().Child(name, args...)
}

// commandRequest asks for a program, or a line, in session "s".
func commandRequest(command string, args ...string) acpterm.CreateTerminalRequest {
	return terminaltest.CommandRequest(command, args...)
}

func inSession(session acpterm.SessionID, req acpterm.CreateTerminalRequest) acpterm.CreateTerminalRequest {
	return terminaltest.InSession(session, req)
}

func create(t testing.TB, m *acpterm.Manager, req acpterm.CreateTerminalRequest,
	options ...*acpterm.TerminalOptions) *acpterm.Terminal {
	t.Helper()
	return terminaltest.Create(t, m, req, options...)
}

func createReady(t testing.TB, m *acpterm.Manager, req acpterm.CreateTerminalRequest,
	options ...*acpterm.TerminalOptions) *acpterm.Terminal {
	t.Helper()
	return terminaltest.CreateReady(t, m, req, options...)
}

func finish(t testing.TB, m *acpterm.Manager, req acpterm.CreateTerminalRequest,
	options ...*acpterm.TerminalOptions) *acpterm.Terminal {
	t.Helper()
	return terminaltest.Finish(t, m, req, options...)
}

func awaitExit(t testing.TB, term *acpterm.Terminal) acpterm.TerminalExitStatus {
	t.Helper()
	return terminaltest.AwaitExit(t, term)
}

func awaitOutput(t testing.TB, term *acpterm.Terminal, text string) {
	t.Helper()
	terminaltest.AwaitOutput(t, term, text)
}

// run runs a child to its end and returns its output.
func run(t testing.TB, m *acpterm.Manager, req acpterm.CreateTerminalRequest) acpterm.TerminalOutputResponse {
	t.Helper()
	return terminaltest.RunToEnd(t, m, req)
}

// killedBy is the signal in the status of a command that was killed and did nothing about it.
func killedBy() string {
	if leaktest.CanAsk() {
		return "SIGTERM"
	}
	return "SIGKILL" // at once
}

// first is the options of a call that may have none.
func first[T any](options []*T) *T {
	if len(options) == 0 {
		return nil
	}
	return options[0]
}
