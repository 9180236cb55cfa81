package acpterm

// Windows: what a host ran was in jobs that ended with it (procgroup_windows.go), so of a host that died there are
// records and nothing else.

import (
	"context"
	"errors"

	"golang.org/x/sys/windows"
)

// bootID is not asked for: the times at which processes started are apart over several boots, too.
func bootID() (string, error) { return "", nil }

// newRecordedProcess records when the process started as 100 nanoseconds since 1601.
func newRecordedProcess(pid int) (recordedProcess, error) {
	process, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return recordedProcess{}, err
	}
	defer windows.CloseHandle(process)
	started, err := startedAt(process)
	return recordedProcess{pid, started}, err
}

func startedAt(process windows.Handle) (uint64, error) {
	var created, exited, kernel, user windows.Filetime
	err := windows.GetProcessTimes(process, &created, &exited, &kernel, &user)
	return uint64(created.HighDateTime)<<32 | uint64(created.LowDateTime), err
}

// lives counts a process that may not be looked at as living: a record that is kept does no harm.
func (p recordedProcess) lives() bool {
	process, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION|windows.SYNCHRONIZE, false, uint32(p.PID))
	if err != nil {
		return !errors.Is(err, windows.ERROR_INVALID_PARAMETER) // which says that there is none
	}
	defer windows.CloseHandle(process)
	if event, err := windows.WaitForSingleObject(process, 0); err == nil && event == windows.WAIT_OBJECT_0 {
		return false // it has exited, and somebody still has a handle of it
	}
	started, err := startedAt(process)
	return err != nil || started == p.Started
}

// endRemains has nothing to do.
func endRemains(context.Context, []*remains) {}
