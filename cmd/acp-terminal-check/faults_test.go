package main

// The kit against mutants of a good client.

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/cmd/acp-terminal-check/internal/checks"
	"github.com/acpterm/acpterm/cmd/acp-terminal-check/internal/child"
	"github.com/acpterm/acpterm/internal/longtest"
)

// some lists the mutants that run for each change: one or two of each file, and one that hangs. .ci/long runs all.
var some = []string{
	"kills for a cancel", "knows one directory", "counts the bytes that were written", "answers no wait",
	"shows output once", "serves in order", "kills one process", "only forgets",
}

// Each mutant fails only the checks of the promise that it breaks. All other checks pass, or are not tried because they
// need a failed one.
func TestMutants(t *testing.T) {
	t.Parallel()
	kit := buildKit(t)
	names := some
	if runtime.GOOS == "windows" {
		names = some[:3] // where each of a thousand processes is slow to start
	}
	for name, m := range mutants() {
		if m.breaks == "" || m.unix && !child.Signals || !longtest.Is() && !slices.Contains(names, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			withTime(t, brief(), "1m", func(timeout string) error { return checkMutant(t, kit, name, m, timeout) })
		})
	}
}

// Faults that only one check sees, which runs here with those that it needs.
func TestFaultsOfRareMoments(t *testing.T) {
	for _, name := range []string{"kills for the cancel of a wait that has begun", "shows no unfinished character"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := mutants()[name].breaks
			status, out, errors := runKit(t, name, "-json", "-timeout", "1m", "-run", "^"+want+"$")
			require.Equal(t, exitFailed, status, "%s%s", out, errors)
			require.Equal(t, []string{want}, readReport(t, out).ids(checks.Fail))
		})
	}
}

// checkMutant runs the kit in an empty directory, and also fails if something is left there.
func checkMutant(t *testing.T, kit []string, name string, m mutant, timeout string) error {
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	args := slices.Concat(kit, []string{"-json", "-timeout", timeout, "-total", "10m", "--", self, clientMark, name})
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TMPDIR="+dir, "TMP="+dir)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if cmd.ProcessState.ExitCode() != exitFailed {
		return fmt.Errorf("%w: %s%s", err, out, stderr.String())
	}
	r := readReport(t, string(out))
	want := strings.Fields(m.breaks)
	if got := r.ids(checks.Fail); !slices.Equal(got, want) {
		err = fmt.Errorf("%q failed, not %q", got, want)
		for _, each := range r.Results {
			if each.Outcome == checks.Fail && !slices.Contains(want, each.ID) {
				err = fmt.Errorf("%w\n%s: %s\n%v", err, each.ID, each.Reason, each.Exchanges)
			}
		}
		return err
	}
	for _, each := range r.Results {
		if each.Outcome == checks.Trouble ||
			each.Outcome == checks.NotTried && !strings.HasSuffix(each.Reason, ", which this check needs") {
			return fmt.Errorf("%s: %s: %s", each.ID, each.Outcome, each.Reason)
		}
	}
	left, err := os.ReadDir(dir)
	if len(left) > 0 {
		err = fmt.Errorf("%v is left", left)
	}
	return err
}

// buildKit returns the kit as a command line. It is built without the race detector, which would make each of the
// thousands of commands several times slower. Without a go command, it is the test binary.
func buildKit(t *testing.T) []string {
	if _, err := exec.LookPath("go"); err != nil {
		self, err := os.Executable()
		require.NoError(t, err)
		return []string{self, kitMark}
	}
	kit := filepath.Join(t.TempDir(), "acp-terminal-check.exe")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", kit, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return []string{kit}
}

// A mutant breaks each check, and each mutant breaks an existing check.
func TestEachCheckHasAMutant(t *testing.T) {
	broken := make(map[string]bool)
	count := 0
	for name, m := range mutants() {
		if m.breaks != "" {
			count++
		}
		require.LessOrEqual(t, len(strings.Fields(m.breaks)), 2, name)
		for id := range strings.FieldsSeq(m.breaks) {
			broken[id] = true
		}
	}
	require.GreaterOrEqual(t, count, 40)
	for _, c := range checks.All() {
		require.True(t, broken[c.ID], c.ID)
		delete(broken, c.ID)
	}
	require.Empty(t, broken)
	for _, name := range some {
		require.Contains(t, mutants(), name)
	}
}
