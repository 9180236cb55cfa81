// Package leaktest finds processes, goroutines and descriptors left behind by a test, and reports which features tests
// can use on this system. Only tests import it.
package leaktest

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Variable is in the environment of every command of a test, so that the command's descendants can be found.
const Variable = "ACPTERM_TEST_MARK"

var marks atomic.Int64

// NewMark returns a variable, "NAME=value", that no other test uses.
func NewMark() string { return fmt.Sprintf("%s=%d-%d", Variable, os.Getpid(), marks.Add(1)) }

// Watch calls end when the test ends, and then fails the test if anything is left: processes with the returned variable
// in their environment, goroutines of the library, or descriptors.
func Watch(t testing.TB, end func() error) (mark string) {
	t.Helper()
	mark = NewMark()
	before := Descriptors()
	t.Cleanup(func() {
		require.NoError(t, end())
		require.Empty(t, Processes(mark), "processes are left")
		require.Empty(t, Goroutines(), "goroutines are left")
		// The other end of a connection may still be closing its descriptors.
		require.Eventually(t, func() bool { return Descriptors() <= before }, time.Minute, time.Millisecond,
			"descriptors are left")
	})
	return mark
}

// StartPiped is Start with pipes for the process's input and output.
func StartPiped(t testing.TB, cmd *exec.Cmd) (stdin io.WriteCloser, stdout io.ReadCloser) {
	t.Helper()
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err = cmd.StdoutPipe()
	require.NoError(t, err)
	Start(t, cmd)
	return stdin, stdout
}

// Start starts a process. The end of a failed test terminates it.
func Start(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
}

// HeapInUse returns the bytes of the heap in use after a garbage collection.
func HeapInUse() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// Goroutines returns the stacks of goroutines that run code of the library.
func Goroutines() []string {
	library := regexp.MustCompile(`github\.com/acpterm/acpterm(/agentproc|/audit|/internal/\w+)?\.`)
	tests := regexp.MustCompile(`acpterm/internal/\w+test\.`)
	return Stacks(func(stack string) bool { return library.MatchString(tests.ReplaceAllString(stack, "")) })
}

// Stacks returns the stacks of goroutines for which of returns true. A goroutine may take a moment to exit after its
// work, so Stacks looks repeatedly for a bounded time.
func Stacks(of func(stack string) bool) (found []string) {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); runtime.Gosched() {
		buf := make([]byte, 1<<20)
		found = nil
		for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			if of(stack) && !strings.Contains(stack, "leaktest.Stacks") {
				found = append(found, stack)
			}
		}
		if len(found) == 0 {
			return nil
		}
	}
	return found
}
