package conformance

// The commands of the tests, and helpers.

import (
	"flag"
	"os"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/racetest"
	"github.com/acpterm/acpterm/mcpserver"
)

// commandMark, as the first argument, makes this program one of the commands. The next argument is its name.
const commandMark = "acpterm-conformance-command"

// commands are the commands run in the terminals.
var commands = map[string]func(){
	"bytes":    printBytes,
	"wait":     waitForCancel,
	"hold":     hold,
	"v2-agent": serveReportingAgent,
}

func TestMain(m *testing.M) {
	mcpserver.RunRelay()
	if len(os.Args) > 2 && os.Args[1] == commandMark {
		commands[os.Args[2]]()
		os.Exit(0)
	}
	racetest.Restart()
	// The programs run by the parallel tests wait for each other, too.
	if err := flag.Set("test.parallel", strconv.Itoa(2+runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// requireSame is require.Equal for long texts. It reports only where they begin to differ.
func requireSame(t *testing.T, want, got string) {
	t.Helper()
	if want == got {
		return
	}
	at := 0
	for at < min(len(want), len(got)) && want[at] == got[at] {
		at++
	}
	near := func(text string) string { return text[max(0, at-20):min(len(text), at+20)] }
	require.Failf(t, "texts differ", "at byte %d of %d and %d: want %q, got %q", at, len(want), len(got), near(want), near(got))
}

// must returns value, or panics if err is not nil.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
