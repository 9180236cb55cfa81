package child

// Locks of files on Windows, which has no signals.

import (
	"os"

	"golang.org/x/sys/windows"
)

// Signals reports that commands cannot end by a signal here.
const Signals = false

func tryLock(file *os.File) bool {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	return windows.LockFileEx(windows.Handle(file.Fd()), flags, 0, 1, 0, new(windows.Overlapped)) == nil
}

func endBySignal() {}
