package journal

// How a process is known across crashes of the host, on Linux.

import (
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/acpterm/acpterm/internal/procfs"
)

// bootID names the time since the machine's start, in which no two processes are alike in number and start.
func bootID() (string, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id)), err
}

// newProcess records when the process started as clock ticks after the machine's start.
func newProcess(pid int) (process, error) {
	p, err := procfs.Read(pid)
	if procfs.IsGone(err) {
		err = fs.ErrNotExist
	}
	if err != nil {
		return process{}, fmt.Errorf("process %d: %w", pid, err)
	}
	return process{p.PID, p.Started}, nil
}

// runs reports whether it runs, in this boot of the machine. A process that cannot be looked at counts as running, if
// there is one with the number: it may be hidden (hidepid in man 5 proc), or this process may have no descriptors left.
func (p process) runs() bool {
	handle, err := procfs.Open(p.PID)
	if err != nil {
		return isProcess(p.PID)
	}
	defer handle.Close()
	now, err := handle.Process()
	if err != nil {
		return !procfs.IsGone(err) // or a thread
	}
	return now.Started == p.Started && !now.Exited
}

// isProcess reports whether there is a process with a number, not a thread; true if that cannot be known.
func isProcess(pid int) bool {
	pidfd, err := unix.PidfdOpen(pid, 0)
	switch err {
	case nil:
		unix.Close(pidfd)
		return true
	case unix.ESRCH, unix.EINVAL, unix.ENOENT: // the last two are for a thread
		return false
	}
	return unix.Kill(pid, 0) != unix.ESRCH
}
