package acpterm

// Who has a number, and whether anybody has begun since it was asked.

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A session is told by its numbers alone; what is not of it has to be looked at closely.
func TestWhoHasANumber(t *testing.T) {
	executable, err := os.Executable()
	require.NoError(t, err)
	leader := exec.Command("/bin/sh", "-c", `"$0" acpterm-test-child sleep-silently & echo $!; read line`, executable)
	leader.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdin, err := leader.StdinPipe()
	require.NoError(t, err)
	stdout, err := leader.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, leader.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	child, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	all, closeAll := someTrees()
	defer closeAll()
	g := procGroup{pid: leader.Process.Pid, trees: all}
	glance := func(number int) holder {
		p, who := g.glance(number)
		require.True(t, who != ofCrew || p == process{identity: identity{pid: number}, group: g.pid, session: g.pid})
		return who
	}

	require.Equal(t, ofCrew, glance(child))
	var threads []string
	for len(threads) < 2 { // a Go program has some
		threads, err = threadsOf(child)
		require.NoError(t, err)
	}
	own, err := threadsOf(os.Getpid())
	require.NoError(t, err)
	for _, thread := range append(threads, own...) {
		if number, _ := strconv.Atoi(thread); number != child && number != os.Getpid() {
			require.Equal(t, noOne, glance(number), "it is a thread's")
		}
	}
	require.Equal(t, someone, glance(os.Getpid()), "it is of another session")
	require.Equal(t, someone, glance(1), "it may be of none, and is a process")
	if name, _ := os.ReadFile("/proc/2/comm"); string(name) == "kthreadd\n" { // in a pid namespace none are seen
		require.Equal(t, noOne, glance(2), "it is the kernel's")
	}
	const nobodys = 1 << 30
	require.Equal(t, noOneYet, glance(nobodys))

	var files unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &files))
	require.NoError(t, unix.Prlimit(0, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: files.Max}, nil))
	_, who := g.glance(child)
	seen := g.members(false, pidRange{}, nil)
	assert.NoError(t, unix.Prlimit(0, unix.RLIMIT_NOFILE, &files, nil))
	require.Equal(t, someone, who, "no descriptor could be had")
	require.Equal(t, []member{{process: process{identity: identity{pid: g.pid}}, unknown: true}}, seen)

	pidfd, err := unix.PidfdOpen(child, 0)
	require.NoError(t, err)
	defer unix.Close(pidfd)
	require.NoError(t, unix.PidfdSendSignal(pidfd, unix.SIGKILL, nil, 0))
	require.True(t, readableWithin(pidfd, time.Minute))
	require.Contains(t, []holder{noOne, noOneYet}, glance(child), "it has exited, whether it was reaped or not")
	stdin.Close()
	leader.Wait()
}

// An exit that Go's poller was told of before anybody waits for it is seen all the same.
func TestAnExitBeforeTheWaitForIt(t *testing.T) {
	child := exec.Command("/bin/true")
	require.NoError(t, child.Start())
	fd, err := unix.PidfdOpen(child.Process.Pid, 0)
	require.NoError(t, err)
	require.True(t, readableWithin(fd, time.Minute))
	pidfd, err := pollable(fd)
	require.NoError(t, err)
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	for range 3 { // the poller has told of all that came before
		time.AfterFunc(time.Millisecond, func() { w.Write([]byte("x")) })
		_, err = r.Read(make([]byte, 1))
		require.NoError(t, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	awaitReadable(ctx, pidfd)
	require.NoError(t, ctx.Err())
	require.NoError(t, child.Wait())
}

// threadsOf are the numbers of a process's threads.
func threadsOf(pid int) (numbers []string, err error) {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, entry := range entries {
		numbers = append(numbers, entry.Name())
	}
	return numbers, err
}

func TestNobodyHasBegunSince(t *testing.T) {
	all, closeAll := someTrees()
	defer closeAll()
	require.False(t, all.noneSince(pidRange{}), "nothing is known")
	for { // others on this machine may begin something at any time
		since := all.pidsSince(1, all.numberingBefore())
		if all.noneSince(since) {
			break
		}
	}
	last, err := all.load.lastPID()
	require.NoError(t, err)
	require.False(t, all.noneSince(pidRange{last + 1, last}), "what is said to be last is not")
	since := all.pidsSince(1, all.numberingBefore())
	require.NoError(t, exec.Command("/bin/true").Run())
	require.False(t, all.noneSince(since))
}

// One that has started others, who have all exited, is gone without a closer look.
func TestGoneWithAllItStarted(t *testing.T) {
	m := NewManager(nil)
	defer m.Close()
	run := func(line string) *procGroup {
		term, err := m.Create(t.Context(), CreateTerminalRequest{SessionID: "s", Command: "/bin/sh", Args: []string{"-c", line}})
		require.NoError(t, err)
		_, err = term.Wait(t.Context())
		require.NoError(t, err)
		return term.tree.(*procGroup)
	}
	for !run("/bin/true; /bin/true; exit 3").isGone() { // others on this machine may begin something at any time
	}
	require.False(t, run("/bin/sleep 3600 & exit 3").isGone())
	require.False(t, run("setsid /bin/sleep 3600 & exit 3").isGone())
}

// What stands in for the kernel's file may be old, and a process that is missing from it would be left to run.
func TestOnlyTheKernelSaysWhoWasLast(t *testing.T) {
	fd, err := openKernels("/proc/loadavg")
	require.NoError(t, err)
	unix.Close(fd)
	old := filepath.Join(t.TempDir(), "loadavg")
	require.NoError(t, os.WriteFile(old, []byte("0.00 0.00 0.00 1/100 1000\n"), 0o600))
	_, err = openKernels(old)
	require.Error(t, err)
	_, err = openKernels(filepath.Join(t.TempDir(), "missing"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
