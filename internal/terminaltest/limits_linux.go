package terminaltest

// Limits on Linux.

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/longtest"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func limitLinuxTests() []test {
	return []test{
		{"CPUTimeLimit", TestCPUTimeLimit},
		{"MemoryLimit", TestMemoryLimit},
		{"OpenFilesLimit", TestOpenFilesLimit},
		{"FileSizeLimit", TestFileSizeLimit},
		{"Nice", TestNice},
		{"OptionsSetLimits", TestOptionsSetLimits},
		{"GrandchildrenHaveTheLimits", TestGrandchildrenHaveTheLimits},
		{"AScriptUnderLimits", TestAScriptUnderLimits},
		{"ErrorsUnderLimits", TestErrorsUnderLimits},
	}
}

func TestCPUTimeLimit(t *testing.T, p Place) {
	m := p.NewManager(t, nil)
	line := "while :; do :; done"
	if !p.Local && !longtest.Is() {
		line = "test $(ulimit -t) = 1 && kill -XCPU $$" // avoids using a second of CPU time in each place
	}
	term := runLimited(t, m, ShellRequest(line), acpterm.Limits{CPUTime: time.Millisecond})
	require.Equal(t, "signal SIGXCPU", term.ExitStatus().String())
	require.Equal(t, []acpterm.EnforcedLimit{rlimit("CPUTime", 1)}, term.Info().Limits, "rounded up")

	if !longtest.Is() {
		return // GrandchildrenHaveTheLimits checks the second limit, which kills
	}
	deaf := runLimited(t, m, ShellRequest("trap '' XCPU; while :; do :; done"), acpterm.Limits{CPUTime: time.Second})
	require.Equal(t, "SIGKILL", *deaf.Output().ExitStatus.Signal)
}

func TestMemoryLimit(t *testing.T, p Place) {
	m := p.NewManager(t, nil)
	// Not a Go program: the race detector needs more address space than a usual limit allows.
	request := ShellRequest("x=0123456789abcdef; for i in $(seq 22); do x=$x$x; done; echo ${#x}")
	require.Equal(t, "67108864", outputUnder(t, m, request, acpterm.Limits{}))
	term := runLimited(t, m, request, acpterm.Limits{Memory: 32 << 20})
	require.False(t, term.Output().ExitStatus.Success())
	require.NotContains(t, term.Output().Output, "67108864")
	require.Equal(t, []acpterm.EnforcedLimit{rlimit("Memory", 32<<20)}, term.Info().Limits)
}

func TestOpenFilesLimit(t *testing.T, p Place) {
	m := p.NewManager(t, nil)
	term := runLimited(t, m, p.Child("open-all"), acpterm.Limits{OpenFiles: 50})
	require.Equal(t, "49 "+unix.EMFILE.Error(), term.Output().Output)
	require.Equal(t, []acpterm.EnforcedLimit{rlimit("OpenFiles", 50)}, term.Info().Limits)
}

func TestFileSizeLimit(t *testing.T, p Place) {
	m := p.NewManager(t, nil)
	path := filepath.Join(p.TempDir(t), "file")
	term := runLimited(t, m, p.Child("append-to", path, "100000"), acpterm.Limits{FileSize: 5000})
	require.Contains(t, term.Output().Output, unix.EFBIG.Error(), "Go ignores the signal")
	require.Equal(t, []acpterm.EnforcedLimit{rlimit("FileSize", 5000)}, term.Info().Limits)
	info, err := os.Stat(p.path(path))
	require.NoError(t, err)
	require.EqualValues(t, 5000, info.Size())

	term = runLimited(t, m, ShellRequest("exec head -c 100000 /dev/zero >"+path), acpterm.Limits{FileSize: 5000})
	require.Equal(t, "SIGXFSZ", *term.Output().ExitStatus.Signal)
	term = runLimited(t, m, ShellRequest("head -c 100000 /dev/zero"), acpterm.Limits{FileSize: 5000})
	require.True(t, term.Output().ExitStatus.Success(), "the output is no file")
}

func TestNice(t *testing.T, p Place) {
	m := p.NewManager(t, nil)
	inverse, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	require.NoError(t, err)
	own := 20 - inverse
	nicer := min(3, 19-own) // 19 is the highest
	term := runLimited(t, m, ShellRequest("exec cut -d ' ' -f 19 /proc/self/stat"), acpterm.Limits{Nice: 3})
	require.Equal(t, fmt.Sprintln(own+nicer), term.Output().Output)
	require.Equal(t, []acpterm.EnforcedLimit{{Name: "Nice", Value: int64(nicer), By: "priority"}}, term.Info().Limits)
}

func TestOptionsSetLimits(t *testing.T, p Place) {
	m := p.NewManager(t, &acpterm.Options{Commands: acpterm.CommandOptions{Limits: &acpterm.Limits{OpenFiles: 50}}})
	require.NoError(t, m.OpenSession("own", &acpterm.SessionOptions{
		Commands: acpterm.CommandOptions{Limits: &acpterm.Limits{OpenFiles: 60, Nice: 1}},
	}))
	for session, want := range map[acpterm.SessionID]string{"s": "50", "own": "60"} {
		term := Finish(t, m, InSession(session, ShellRequest("ulimit -n")))
		require.Equal(t, want+"\n", term.Output().Output)
	}
}

func TestGrandchildrenHaveTheLimits(t *testing.T, p Place) {
	m := p.NewManager(t, nil)
	everything := acpterm.Limits{CPUTime: time.Hour, Memory: 8 << 30, OpenFiles: 50, FileSize: 5120}
	line := "sh -c '(ulimit -t; ulimit -Ht; ulimit -v; ulimit -n; ulimit -Hn; ulimit -f) & wait'; true"
	require.Equal(t, "3600 3601 8388608 50 50 10", outputUnder(t, m, ShellRequest(line), everything))
}

func TestAScriptUnderLimits(t *testing.T, p Place) {
	m := p.NewManager(t, nil)
	path := filepath.Join(p.TempDir(t), "script")
	require.NoError(t, p.writeFile(path, []byte("#!/bin/sh\nulimit -n\n"), 0o700))
	require.Equal(t, "50", outputUnder(t, m, CommandRequest(path), acpterm.Limits{OpenFiles: 50}))
}

// A command that cannot be started gives the same error with limits as without.
func TestErrorsUnderLimits(t *testing.T, p Place) {
	m := p.NewManager(t, nil)
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(p.TempDir(t), name)
		require.NoError(t, p.writeFile(path, []byte(text), mode))
		return path
	}
	for program, kind := range map[string]acpterm.Kind{
		"no-such-program": acpterm.ErrCommandNotFound,
		file("missing-interpreter", "#!/no/such/interpreter\n", 0o700): acpterm.ErrNotExecutable,
		file("garbage", "\x7fELF and no more", 0o700):                  acpterm.ErrNotExecutable,
		file("not-executable", "#!/bin/sh\n", 0o600):                   acpterm.ErrNotExecutable,
		p.TempDir(t): acpterm.ErrNotExecutable,
	} {
		request := CommandRequest(program)
		_, without := m.Create(t.Context(), request, nil)
		require.ErrorIs(t, without, kind)
		_, with := m.Create(t.Context(), request, &acpterm.CommandOptions{Limits: &acpterm.Limits{OpenFiles: 50}})
		require.EqualError(t, with, without.Error())
		require.ErrorIs(t, with, kind)
	}
}

// runLimited runs a command under limits to its end.
func runLimited(t testing.TB, m *acpterm.Manager, req acpterm.CreateTerminalRequest,
	limits acpterm.Limits) *acpterm.Terminal {
	t.Helper()
	return Finish(t, m, req, &acpterm.CommandOptions{Limits: &limits})
}

// outputUnder runs a command under limits and returns its output in one line.
func outputUnder(t testing.TB, m *acpterm.Manager, req acpterm.CreateTerminalRequest, limits acpterm.Limits) string {
	t.Helper()
	return strings.Join(strings.Fields(runLimited(t, m, req, limits).Output().Output), " ")
}

func rlimit(name string, value int64) acpterm.EnforcedLimit {
	return acpterm.EnforcedLimit{Name: name, Value: value, By: "rlimit"}
}
