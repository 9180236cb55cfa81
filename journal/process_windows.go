package journal

// Identification of processes across crashes of the host, on Windows.

import (
	"errors"

	"golang.org/x/sys/windows"
)

// bootID is empty: the start times of processes differ over several boots, too.
func bootID() (string, error) { return "", nil }

// newProcess records the start of the process in units of 100 nanoseconds since 1601.
func newProcess(pid int) (process, error) {
	handle, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return process{}, err
	}
	defer windows.CloseHandle(handle)
	started, err := startedAt(handle)
	return process{pid, started}, err
}

func startedAt(handle windows.Handle) (uint64, error) {
	var created, exited, kernel, user windows.Filetime
	err := windows.GetProcessTimes(handle, &created, &exited, &kernel, &user)
	return uint64(created.HighDateTime)<<32 | uint64(created.LowDateTime), err
}

// runs counts a process that it cannot examine as running: keeping a record does no harm.
func (p process) runs() bool {
	const rights = windows.PROCESS_QUERY_LIMITED_INFORMATION | windows.SYNCHRONIZE
	handle, err := windows.OpenProcess(rights, false, uint32(p.PID))
	if err != nil {
		return !errors.Is(err, windows.ERROR_INVALID_PARAMETER) // the process does not exist
	}
	defer windows.CloseHandle(handle)
	if event, err := windows.WaitForSingleObject(handle, 0); err == nil && event == windows.WAIT_OBJECT_0 {
		return false // it has exited, but another process has a handle to it
	}
	started, err := startedAt(handle)
	return err != nil || started == p.Started
}
