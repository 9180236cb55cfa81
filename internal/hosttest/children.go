package hosttest

// The commands run by tests: the test binary itself, whose first argument selects a child of package children, or one
// of the test package's own. This file also adapts the helpers of package terminaltest to the local system.

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

const ChildMark = testchildren.Mark

var Children = testchildren.All()

// RunTests is a TestMain for a binary that can also be one of the package's own children.
func RunTests(m *testing.M, own map[string]func(args []string)) {
	maps.Copy(Children, own)
	testchildren.Main(Children)
	racetest.Restart()
	// Parallel tests mostly wait. Tests with a Manager are not parallel, because NewManager examines the whole process.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// Here returns the local system as a place for terminaltest.
func Here() terminaltest.Place {
	return terminaltest.Place{
		NewManager: func(t testing.TB, options *acpterm.Options) *acpterm.Manager {
			t.Helper()
			return NewManager(t, options)
		},
		Program: Executable(),
		TempDir: RealTempDir,
		Local:   true,

		CannotAsk:            !leaktest.CanAsk(),
		NeedsEndsInTheMiddle: leaktest.NeedsEndsInTheMiddle,
	}
}

func ChildArgs(name string, args ...string) []string { return testchildren.Args(name, args...) }

func Executable() string { return testchildren.Program() }

func Number(s string) int { return testchildren.Number(s) }

// ChildRequest returns a request for a child in session "s".
func ChildRequest(name string, args ...string) acpterm.CreateTerminalRequest {
	return Here().Child(name, args...)
}

// Helpers of terminaltest that need no Place.
var (
	CommandRequest = terminaltest.CommandRequest
	InSession      = terminaltest.InSession
	Create         = terminaltest.Create
	CreateReady    = terminaltest.CreateReady
	Finish         = terminaltest.Finish
	AwaitExit      = terminaltest.AwaitExit
	AwaitOutput    = terminaltest.AwaitOutput
	Run            = terminaltest.RunToEnd
	EndedBy        = terminaltest.EndedBy
)

// KilledBy returns the signal in the status of a killed command that does not handle signals.
func KilledBy() string {
	if leaktest.CanAsk() {
		return "SIGTERM"
	}
	return "SIGKILL" // immediately
}
