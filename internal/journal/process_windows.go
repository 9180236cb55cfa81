package journal

import (
	"errors"

	"golang.org/x/sys/windows"
)

// Boot is empty: the times at which processes started differ over several boots, too.
func Boot() (string, error) { return "", nil }

// newProcess records when the process started as 100 nanoseconds since 1601.
func newProcess(pid int) (Process, error) {
	process, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return Process{}, err
	}
	defer windows.CloseHandle(process)
	started, err := startedAt(process)
	return Process{pid, started}, err
}

func startedAt(process windows.Handle) (uint64, error) {
	var created, exited, kernel, user windows.Filetime
	err := windows.GetProcessTimes(process, &created, &exited, &kernel, &user)
	return uint64(created.HighDateTime)<<32 | uint64(created.LowDateTime), err
}

// runs counts a process that may not be looked at as living: a record that is kept does no harm.
func (p Process) runs() bool {
	const rights = windows.PROCESS_QUERY_LIMITED_INFORMATION | windows.SYNCHRONIZE
	process, err := windows.OpenProcess(rights, false, uint32(p.PID))
	if err != nil {
		return !errors.Is(err, windows.ERROR_INVALID_PARAMETER) // which says that there is none
	}
	defer windows.CloseHandle(process)
	if event, err := windows.WaitForSingleObject(process, 0); err == nil && event == windows.WAIT_OBJECT_0 {
		return false // it has exited, and another process has a handle of it
	}
	started, err := startedAt(process)
	return err != nil || started == p.Started
}
