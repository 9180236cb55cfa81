package journal

// Identification of processes across crashes of the host, on Linux.

import (
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/acpterm/acpterm/internal/procfs"
)

// bootID names the time since the machine's start. During that time, no two processes share both number and start. It
// fails if they cannot be read.
func bootID() (string, error) {
	if err := new(procfs.Table).Usable(); err != nil {
		return "", err
	}
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id)), err
}

// newProcess records when the process started as clock ticks after the machine's start.
func newProcess(pid int) (process, error) {
	p, err := new(procfs.Table).Read(pid)
	if procfs.IsGone(err) {
		err = fs.ErrNotExist
	}
	if err != nil {
		return process{}, fmt.Errorf("process %d: %w", pid, err)
	}
	return process{p.PID, p.Started}, nil
}

// runs reports whether the process runs, in this boot of the machine. A process that cannot be examined counts as
// running if one with the number exists: it may be hidden (hidepid in man 5 proc), or this process may be out of
// descriptors.
func (p process) runs() bool {
	handle, err := new(procfs.Table).Open(p.PID)
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

// isProcess reports whether a process, not a thread, has the number. It returns true if it cannot tell.
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
