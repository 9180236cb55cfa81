package acpterm_test

// After every test nothing of it is left: what a test starts, it starts through newManager, which looks for
// processes, goroutines and descriptors once the manager is closed.

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/terminaltest"
	"github.com/stretchr/testify/require"
)

// markVariable is in the environment of every command of a test, so that its descendants can be found.
const markVariable = terminaltest.MarkVariable

var marks atomic.Int64

// newManager returns a manager that is closed when the test ends; the test fails if anything is left then.
// Processes and descriptors are looked for where there is /proc, which is on Linux, and on Windows.
func newManager(t testing.TB, options *acpterm.Options) *acpterm.Manager {
	t.Helper()
	if options == nil {
		options = new(acpterm.Options)
	}
	mark := fmt.Sprintf("%s=%d-%d", markVariable, os.Getpid(), marks.Add(1))
	if options.Env == nil {
		options.Env = os.Environ()
	}
	options.Env = append(options.Env, mark)
	before := openDescriptors()
	m := must(acpterm.NewManager(options))
	t.Cleanup(func() {
		require.NoError(t, m.Close())
		require.Empty(t, markedProcesses(mark), "processes are left")
		require.Empty(t, libraryGoroutines(), "goroutines are left")
		// The other end of a connection may still be closing its own.
		require.Eventually(t, func() bool { return openDescriptors() <= before }, 5*time.Second, time.Millisecond,
			"descriptors are left")
	})
	return m
}

// libraryGoroutines are the stacks of goroutines that run code of the library. A goroutine that has said it is
// done may take a moment to be gone, so it looks until there is none, for a bounded time.
func libraryGoroutines() (found []string) {
	library := regexp.MustCompile(`github\.com/acpterm/acpterm(/audit|/internal/\w+)?\.`)
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); runtime.Gosched() {
		buf := make([]byte, 1<<20)
		found = nil
		for _, stack := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			if library.MatchString(strings.ReplaceAll(stack, "acpterm/internal/terminaltest.", "")) && !strings.Contains(stack, "libraryGoroutines") {
				found = append(found, stack)
			}
		}
		if len(found) == 0 {
			return nil
		}
	}
	return found
}

// must is a value that is made without an error.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
