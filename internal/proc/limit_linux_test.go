package proc

// These tests check that a start leaves nothing behind if a limit cannot be set, that signals before the program's
// first instruction have their usual effect, and the contents of a cgroup's files.

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/acpterm/acpterm/internal/leaktest"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/acpterm/acpterm/internal/cgroup"
)

func TestALimitThatCannotBeSetLeavesNothing(t *testing.T) {
	resource := rlimits["OpenFiles"]
	rlimits["OpenFiles"] = 99 // does not exist
	defer func() { rlimits["OpenFiles"] = resource }()
	s := newSupervisor(t)
	start(t, s, line("true")).end()
	before := leaktest.Descriptors()
	file := filepath.Join(t.TempDir(), "ran")
	spec := line("echo >" + file)
	spec.Limits = []Limit{{Name: "OpenFiles", Value: 50}}
	for range 20 {
		_, err := s.Start(t.Context(), spec)
		require.EqualError(t, err, "limit OpenFiles: cannot be enforced: invalid argument")
		requireNothingLeft(t, before)
	}
	require.NoFileExists(t, file)
}

func TestSignalsBeforeTheFirstInstruction(t *testing.T) {
	for _, c := range []struct {
		signal syscall.Signal
		ends   Exit
		stops  bool
	}{
		{signal: unix.SIGTERM, ends: Exit{Signal: "SIGTERM"}},
		{signal: unix.SIGKILL, ends: Exit{Signal: "SIGKILL"}},
		{signal: unix.SIGCONT, ends: Exit{Code: 3}},
		{signal: unix.SIGSTOP, ends: Exit{Code: 3}, stops: true},
	} {
		t.Run(unix.SignalName(c.signal), func(t *testing.T) {
			runtime.LockOSThread() // the tracer is a thread
			defer runtime.UnlockOSThread()
			limits := []Limit{{Name: "OpenFiles", Value: 50}, {Name: "Nice", Value: 1}}
			attr := &syscall.ProcAttr{Sys: &syscall.SysProcAttr{}}
			pid, l, err := startLimited("/bin/sh", []string{"sh", "-c", "exit 3"}, attr, limits)
			require.NoError(t, err)
			for setSignalMask(pid, &l.signals) != nil {
				runtime.Gosched()
			}
			status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			require.NoError(t, err)
			require.Regexp(t, "TracerPid:\t[1-9]", string(status))
			require.NoError(t, unix.Kill(pid, c.signal))
			_, err = l.imposeStopped(&Tree{common: common{pid: pid}, sup: new(Supervisor)})
			if c.signal != unix.SIGKILL { // SIGKILL may already have ended it
				require.NoError(t, err)
			}
			if c.stops {
				require.NoError(t, unix.Waitid(unix.P_PID, pid, nil, unix.WSTOPPED, nil))
				require.NoError(t, unix.Kill(pid, unix.SIGCONT))
			}
			exit, _, err := waitUnreaped(unix.P_PID, pid, 0)
			require.NoError(t, err)
			require.NoError(t, reap(unix.P_PID, pid))
			require.Equal(t, c.ends.Code, exit.Code)
			require.Equal(t, c.ends.Signal, exit.Signal)
		})
	}
}

// A leader killed before its first instruction needs no limits, even if the process table cannot be read.
func TestALeaderKilledBeforeItsFirstInstruction(t *testing.T) {
	var limit unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	runtime.LockOSThread() // the tracer is a thread
	defer runtime.UnlockOSThread()
	attr := &syscall.ProcAttr{Sys: &syscall.SysProcAttr{}}
	pid, l, err := startLimited("/bin/sh", []string{"sh", "-c", "exit 3"}, attr, []Limit{{Name: "OpenFiles", Value: 50}})
	require.NoError(t, err)
	defer reap(unix.P_PID, pid)
	pidfd, err := unix.PidfdOpen(pid, 0)
	require.NoError(t, err)
	defer unix.Close(pidfd)
	require.NoError(t, unix.Kill(pid, unix.SIGKILL))
	_, _, err = waitUnreaped(unix.P_PID, pid, 0)
	require.NoError(t, err)
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: limit.Max}))
	enforced, err := l.impose(t.Context(), &Tree{common: common{pid: pid}, sup: new(Supervisor), pidfd: pidfd})
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit))
	require.NoError(t, err)
	require.Empty(t, enforced)
}

func TestWhatIsWrittenToACgroup(t *testing.T) {
	asked := []Limit{{Name: "CPUTime", Value: 5}, {Name: "Memory", Value: 1 << 20}, {Name: "Processes", Value: 7}}
	for _, c := range []struct {
		has, becomes   map[string]string // the files
		enforced, rest []Limit
	}{
		{
			has:     map[string]string{"memory.max": "max", "memory.swap.max": "max", "memory.oom.group": "0", "pids.max": "max"},
			becomes: map[string]string{"memory.max": "1048576", "memory.swap.max": "0", "memory.oom.group": "1", "pids.max": "7"},
			enforced: []Limit{
				{Name: "Memory", Value: 1 << 20, By: "cgroup", Tree: true}, {Name: "Processes", Value: 7, By: "cgroup", Tree: true},
			},
			rest: asked[:1],
		},
		{
			has:      map[string]string{"pids.max": "max"},
			becomes:  map[string]string{"pids.max": "7"},
			enforced: []Limit{{Name: "Processes", Value: 7, By: "cgroup", Tree: true}},
			rest:     asked[:2],
		},
		{becomes: map[string]string{}, rest: asked},
	} {
		parent := t.TempDir()
		made, err := cgroup.Make(parent, "made")
		require.NoError(t, err)
		defer made.Remove()
		dir := filepath.Join(parent, "made")
		for name, text := range c.has {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
		enforced, rest, err := limitTogether(made, asked)
		require.NoError(t, err)
		require.Equal(t, c.enforced, enforced)
		require.Equal(t, c.rest, rest)
		now := make(map[string]string)
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, entry := range entries {
			text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
			require.NoError(t, err)
			now[entry.Name()] = string(text)
		}
		require.Equal(t, c.becomes, now)
	}
	enforced, rest, err := limitTogether(nil, asked)
	require.NoError(t, err)
	require.Empty(t, enforced)
	require.Equal(t, asked, rest)
}
