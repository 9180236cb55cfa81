package lawtest

// Helpers for tests of races: other processes that use the processors, and a run with GOMAXPROCS=1.

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/acpterm/acpterm/internal/longtest"
	"github.com/stretchr/testify/require"
)

// busyChild uses a processor until its standard input ends.
func busyChild([]string) {
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	for n := 1; n != 0; n++ {
	}
}

// underLoad starts processes that use the processors until the test ends.
func underLoad(t testing.TB) {
	t.Helper()
	if runnable() > 3*runtime.NumCPU() {
		return // such a load exists already
	}
	for range 2 {
		busy := exec.Command(hosttest.Executable(), hosttest.ChildMark, "busy")
		stdin := hosttest.Must(busy.StdinPipe())
		require.NoError(t, busy.Start())
		t.Cleanup(func() {
			stdin.Close()
			busy.Wait()
		})
	}
}

// runnable returns how many threads of the machine run or wait for a processor now (man 5 proc_loadavg).
func runnable() (n int) {
	text, _ := os.ReadFile("/proc/loadavg")
	if fields := strings.Fields(string(text)); len(fields) > 3 {
		fmt.Sscanf(fields[3], "%d/", &n)
	}
	return n
}

// oneProcessorVariable is set in a process started by alsoOnOneProcessor.
const oneProcessorVariable = "ACPTERM_TEST_ONE_PROCESSOR"

// alsoOnOneProcessor runs the whole test once more, in a process with GOMAXPROCS=1.
func alsoOnOneProcessor(t *testing.T) {
	t.Helper()
	if os.Getenv(oneProcessorVariable) != "" {
		return
	}
	t.Run("one processor", func(t *testing.T) {
		args := []string{"-test.run=^" + regexp.QuoteMeta(topOf(t)) + "$", fmt.Sprintf("-test.short=%t", testing.Short())}
		again := exec.Command(hosttest.Executable(), args...)
		again.Env = append(os.Environ(), oneProcessorVariable+"=1", "GOMAXPROCS=1")
		out, err := again.CombinedOutput()
		require.NoError(t, err, "%s", out)
	})
}

// inLongAlsoOnOneProcessor is alsoOnOneProcessor in .ci/long.
func inLongAlsoOnOneProcessor(t *testing.T) {
	t.Helper()
	if longtest.Is() {
		alsoOnOneProcessor(t)
	}
}

// topOf returns the name of the test function of a subtest.
func topOf(t *testing.T) string {
	return regexp.MustCompile("^[^/]*").FindString(t.Name())
}
