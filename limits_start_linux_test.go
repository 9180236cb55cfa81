package acpterm

// Limits below Terminal: a start that cannot give a process its limits leaves nothing of it, and what a cgroup is told.

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestALimitThatCannotBeSetLeavesNothing(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	resource := rlimits["OpenFiles"]
	rlimits["OpenFiles"] = 99 // which there is none of
	defer func() { rlimits["OpenFiles"] = resource }()
	file := filepath.Join(t.TempDir(), "ran")
	command := Command{Path: "/bin/sh", Args: []string{"sh", "-c", "echo >" + file}, Dir: t.TempDir(), Env: os.Environ()}
	descriptors := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		return len(entries)
	}
	before := descriptors()
	for range 20 {
		inherits := new(inherited)
		all, closeAll := someTrees()
		g, err := startGroup(command, groupOptions{limits: Limits{OpenFiles: 50}, inherited: inherits, trees: all})
		inherits.close()
		closeAll()
		require.Nil(t, g)
		require.EqualError(t, err, "acpterm: Limits.OpenFiles: cannot be enforced: invalid argument")
	}
	require.Equal(t, before, descriptors())
	require.NoFileExists(t, file)
	require.ErrorIs(t, unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil), unix.ECHILD, "a child is left")
}

func startLimited(l limiter, c Command) (pid int, err error) {
	err = l.start(c, &syscall.ProcAttr{Sys: &syscall.SysProcAttr{}}, new(inherited), forkCalls{begun: func(child int) { pid = child }})
	return pid, err
}

// Signals that come while a process waits for its limits do to it what they do to any other, and the zombie is left for
// who waits for its exit.
func TestSignalsBeforeTheFirstInstruction(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, c := range []struct {
		signal syscall.Signal
		ends   string
		code   uint32
		stops  bool
	}{
		{signal: unix.SIGTERM, ends: "SIGTERM"},
		{signal: unix.SIGKILL, ends: "SIGKILL"},
		{signal: unix.SIGCONT, code: 3},
		{signal: unix.SIGSTOP, code: 3, stops: true},
	} {
		l, err := newLimiter([]EnforcedLimit{{Name: "OpenFiles", Value: 50}, {Name: "Nice", Value: 1}})
		require.NoError(t, err)
		pid, err := startLimited(l, Command{Path: "/bin/sh", Args: []string{"sh", "-c", "exit 3"}})
		require.NoError(t, err)
		stopped, err := awaitExecStop(pid)
		require.NoError(t, err)
		require.True(t, stopped)
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		require.NoError(t, err)
		require.Regexp(t, "SigBlk:\t[0-9a-f]{10}fbfeef\n", string(status), "all are blocked but SIGTRAP, and KILL and STOP")
		require.NoError(t, unix.Kill(pid, c.signal))
		_, err = l.imposeStopped(pid)
		require.NoError(t, err)
		if c.stops {
			require.NoError(t, unix.Waitid(unix.P_PID, pid, nil, unix.WSTOPPED, nil))
			require.NoError(t, unix.Kill(pid, unix.SIGCONT))
		}
		e, exited, err := waitNoReap(pid, 0)
		require.NoError(t, err)
		require.True(t, exited)
		reap(pid)
		require.Equal(t, c.code, e.code)
		require.Equal(t, c.ends, e.signal)
	}
}

// One that is killed before it stops has ended, and that is no error.
func TestKilledBeforeTheLimits(t *testing.T) {
	l, err := newLimiter([]EnforcedLimit{{Name: "OpenFiles", Value: 50}})
	require.NoError(t, err)
	pid, err := syscall.ForkExec("/bin/sleep", []string{"sleep", "300"}, &syscall.ProcAttr{})
	require.NoError(t, err)
	require.NoError(t, unix.Kill(pid, unix.SIGKILL))
	enforced, err := l.impose(pid)
	require.NoError(t, err)
	require.Empty(t, enforced)
	reap(pid)
	require.ErrorIs(t, unix.Kill(pid, 0), unix.ESRCH)
}

// reap takes the zombie, and not for one a stop that was not waited for.
func TestReapOfOneThatIsToGetLimits(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	l, err := newLimiter([]EnforcedLimit{{Name: "OpenFiles", Value: 50}})
	require.NoError(t, err)
	pid, err := startLimited(l, Command{Path: "/bin/sleep", Args: []string{"sleep", "300"}})
	require.NoError(t, err)
	_, err = awaitExecStop(pid)
	require.NoError(t, err)
	time.AfterFunc(100*time.Millisecond, func() { unix.Kill(pid, unix.SIGKILL) })
	reap(pid) // sees the stop, then the end
	require.ErrorIs(t, unix.Kill(pid, 0), unix.ESRCH)
}

func TestWhatACgroupIsTold(t *testing.T) {
	asked := []EnforcedLimit{{Name: "CPUTime", Value: 5}, {Name: "Memory", Value: 1 << 20}, {Name: "Processes", Value: 7}}
	for _, c := range []struct {
		has            map[string]string // the files before
		becomes        map[string]string
		enforced, rest []EnforcedLimit
	}{
		{
			has:     map[string]string{"memory.max": "max", "memory.swap.max": "max", "memory.oom.group": "0", "pids.max": "max"},
			becomes: map[string]string{"memory.max": "1048576", "memory.swap.max": "0", "memory.oom.group": "1", "pids.max": "7"},
			enforced: []EnforcedLimit{
				{Name: "Memory", Value: 1 << 20, By: "cgroup", Tree: true}, {Name: "Processes", Value: 7, By: "cgroup", Tree: true},
			},
			rest: asked[:1],
		},
		{
			has:      map[string]string{"pids.max": "max"},
			becomes:  map[string]string{"pids.max": "7"},
			enforced: []EnforcedLimit{{Name: "Processes", Value: 7, By: "cgroup", Tree: true}},
			rest:     asked[:2],
		},
		{rest: asked},
	} {
		dir := t.TempDir()
		for name, text := range c.has {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
		opened, err := os.Open(dir)
		require.NoError(t, err)
		defer opened.Close()
		enforced, rest, err := (&cgroup{opened}).limit(asked)
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
		require.Equal(t, len(c.becomes), len(now))
		for name, text := range c.becomes {
			require.Equal(t, text, now[name], name)
		}
	}
	var none *cgroup
	enforced, rest, err := none.limit(asked)
	require.NoError(t, err)
	require.Empty(t, enforced)
	require.Equal(t, asked, rest)
}
