package browsertest

// The commands of tests: scripts, or the test binary.

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/internal/racetest"
	"github.com/acpterm/acpterm/internal/viewtest"
)

// TestMain also makes the test binary a command.
func TestMain(m *testing.M) {
	if len(os.Args) >= 3 && os.Args[1] == "child" {
		child(os.Args[2])
		return
	}
	racetest.Restart()
	if err := flag.Set("test.parallel", "5"); err != nil { // four pages of Chromium and one of Firefox
		panic(err)
	}
	os.Exit(m.Run())
}

func child(which string) {
	switch which {
	case "family": // starts a child that ignores SIGTERM
		other := exec.Command(os.Args[0], "child", "stubborn")
		other.Stdout = os.Stdout
		if err := other.Start(); err != nil {
			panic(err)
		}
		time.Sleep(time.Hour)
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		fmt.Printf("ready %d\n", os.Getpid())
		time.Sleep(time.Hour)
	}
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
