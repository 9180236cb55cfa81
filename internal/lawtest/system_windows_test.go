package lawtest

// Queries of Windows for the tests: the existing processes.

import (
	"path/filepath"
	"testing"

	"github.com/acpterm/acpterm/internal/hosttest"

	"github.com/acpterm/acpterm/internal/leaktest"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"
)

// watched is a process whose identity is fixed while it is watched.
type watched struct {
	t      testing.TB
	handle windows.Handle
}

// watch opens a running process.
func watch(t testing.TB, pid int) watched {
	t.Helper()
	handle, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
	require.NoError(t, err, "process %d", pid)
	t.Cleanup(func() { windows.CloseHandle(handle) })
	return watched{t, handle}
}

// runs reports whether it has not exited.
func (w watched) runs() bool {
	w.t.Helper()
	event, err := windows.WaitForSingleObject(w.handle, 0)
	require.NoError(w.t, err)
	return event == uint32(windows.WAIT_TIMEOUT)
}

// awaitExit returns when it has exited.
func (w watched) awaitExit() {
	w.t.Helper()
	_, err := windows.WaitForSingleObject(w.handle, windows.INFINITE)
	require.NoError(w.t, err)
}

// descendants returns the numbers of the processes that run this program, except this one. Tests do not run in
// parallel, so they all belong to this test.
func descendants() (pids []int) {
	for _, entry := range leaktest.Snapshot() {
		if entry.ProcessID != windows.GetCurrentProcessId() &&
			windows.UTF16ToString(entry.ExeFile[:]) == filepath.Base(hosttest.Executable()) {
			pids = append(pids, int(entry.ProcessID))
		}
	}
	return pids
}
