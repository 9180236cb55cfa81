//go:build unix

package child

// Locks of files, and signals, on Unix.

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Signals reports that commands can end by a signal here.
const Signals = true

func tryLock(file *os.File) bool {
	return unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}

func endBySignal() {
	syscall.Kill(os.Getpid(), syscall.SIGTERM)
	time.Sleep(longest) // until it arrives
}
