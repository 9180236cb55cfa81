package browsertest

// The commands of tests: scripts, or the test binary.

import (
	"flag"
	"os"
	"testing"

	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/internal/racetest"
	"github.com/acpterm/acpterm/internal/terminaltest/children"
	"github.com/acpterm/acpterm/internal/viewtest"
)

// TestMain also makes the test binary a command.
func TestMain(m *testing.M) {
	children.Main(nil)
	racetest.Restart()
	if err := flag.Set("test.parallel", "5"); err != nil { // four pages of Chromium and one of Firefox
		panic(err)
	}
	os.Exit(m.Run())
}

// steps prints each text that it receives, and ends when the channel is closed.
func steps(texts <-chan string) acptermtest.Script { return viewtest.Steps(texts) }

// must returns value, or panics if err is not nil.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
