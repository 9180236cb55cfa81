package acpterm_test

// What the tests ask Windows: which processes there are, and whether a command can be asked to end.

import (
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/acpterm/acpterm/internal/wintest"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"
)

// canAsk reports whether a command can be asked to end, with CTRL_BREAK.
func canAsk() bool {
	_, err := windows.GetConsoleCP()
	return err == nil && !wintest.UnderWine()
}

// needsAsking is for tests of commands that are asked to end. Wine 8 cannot do that: its GenerateConsoleCtrlEvent
// fails, with ERROR_INVALID_HANDLE where there is a console and with ERROR_INVALID_ACCESS where there is none.
func needsAsking(t testing.TB) {
	t.Helper()
	if !canAsk() {
		t.Skip("CTRL_BREAK cannot be sent: this is Wine, or there is no console")
	}
}

// watched is a process that stays the one it is while it is watched.
type watched struct {
	t      testing.TB
	handle windows.Handle
}

// watch takes hold of a running process.
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

// snapshot is all processes.
func snapshot() (entries []windows.ProcessEntry32) {
	handle, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPPROCESS, 0)
	if err != nil {
		panic(err)
	}
	defer windows.CloseHandle(handle)
	entry := windows.ProcessEntry32{Size: uint32(unsafe.Sizeof(windows.ProcessEntry32{}))}
	for err = windows.Process32First(handle, &entry); err == nil; err = windows.Process32Next(handle, &entry) {
		entries = append(entries, entry)
	}
	return entries
}

// descendants are the numbers of the processes that run this program, except this one. Tests do not run side by
// side, so those are this test's.
func descendants() (pids []int) {
	for _, entry := range snapshot() {
		if entry.ProcessID != windows.GetCurrentProcessId() &&
			windows.UTF16ToString(entry.ExeFile[:]) == filepath.Base(executable()) {
			pids = append(pids, int(entry.ProcessID))
		}
	}
	return pids
}
