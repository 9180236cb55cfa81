//go:build darwin || freebsd

package acpterm

// What the ending of trees stands on where there are kqueue and a process table: the exit that came before the watch, the
// watch that is closed, and the table itself.

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// startShell starts a shell that is reaped by nobody.
func startShell(t *testing.T, script string) (pid int) {
	t.Helper()
	pid, err := syscall.ForkExec("/bin/sh", []string{"sh", "-c", script}, &syscall.ProcAttr{
		Files: []uintptr{closed, closed, closed},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	require.NoError(t, err)
	return pid
}

func reapShell(t *testing.T, pid int) (status unix.WaitStatus) {
	t.Helper()
	for {
		reaped, err := unix.Wait4(pid, &status, 0, nil)
		if err != unix.EINTR {
			require.NoError(t, err)
			require.Equal(t, pid, reaped)
			return status
		}
	}
}

func TestTheExitIsSeenAndLeavesAZombie(t *testing.T) {
	for script, want := range map[string]exit{
		"exit 0":              {},
		"exit 3":              {code: 3},
		"kill -TERM $$":       {signal: "SIGTERM"},
		"kill -KILL $$":       {signal: "SIGKILL"},
		"sleep 0.01; exit 42": {code: 42},
	} {
		for _, before := range []bool{false, true} {
			pid := startShell(t, script)
			for before { // the watch begins on a zombie
				p, ok := readProcess(pid)
				require.True(t, ok)
				before = !p.zombie
				time.Sleep(time.Millisecond)
			}
			var w exitWatch
			require.NoError(t, w.open(pid), script)
			e, err := w.await(pid)
			require.NoError(t, err, script)
			require.Equal(t, want, e, script)
			w.close()
			w.close()
			status := reapShell(t, pid)
			require.Equal(t, want.signal != "", status.Signaled(), script)
		}
	}
}

func TestToCloseTheWatchEndsTheWait(t *testing.T) {
	pid := startShell(t, "exec sleep 3600")
	var w exitWatch
	require.NoError(t, w.open(pid))
	done := make(chan error)
	go func() {
		_, err := w.await(pid)
		done <- err
	}()
	time.Sleep(10 * time.Millisecond) // so that it waits, which nothing shows; it must work if it does not yet, too
	w.close()
	require.ErrorIs(t, <-done, os.ErrClosed)
	_, err := w.await(pid)
	require.ErrorIs(t, err, os.ErrClosed)
	require.NoError(t, unix.Kill(pid, unix.SIGKILL))
	reapShell(t, pid)
}

func TestTheProcessTable(t *testing.T) {
	self, ok := readProcess(os.Getpid())
	require.True(t, ok)
	session, err := unix.Getsid(0)
	require.NoError(t, err)
	require.Equal(t, process{
		identity: identity{os.Getpid(), self.started},
		parent:   os.Getppid(), group: unix.Getpgrp(), session: session,
	}, self)
	started := time.UnixMicro(self.started)
	require.WithinRange(t, started, time.Now().Add(-24*time.Hour), time.Now().Add(time.Second))
	table, err := processes()
	require.NoError(t, err)
	require.Contains(t, table, self)

	pid := startShell(t, "exit 0")
	require.Eventually(t, func() bool { p, ok := readProcess(pid); return ok && p.zombie }, time.Minute, time.Millisecond)
	table, err = processes()
	require.NoError(t, err)
	zombie, _ := readProcess(pid)
	require.Equal(t, []int{os.Getpid(), pid}, []int{zombie.parent, zombie.group})
	require.Contains(t, table, zombie)
	reapShell(t, pid)
	_, ok = readProcess(pid)
	require.False(t, ok)
}
