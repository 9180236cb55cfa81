//go:build unix && !linux

package journal

// How a process is known across crashes of the host, on macOS, FreeBSD and other Unixes.

import (
	"errors"

	"golang.org/x/sys/unix"
)

// bootID is empty here.
func bootID() (string, error) { return "", nil }

func newProcess(pid int) (process, error) { return process{PID: pid}, nil }

// runs reports whether some process has the number. A host's record thus may be kept for too long, but is never
// taken from one that lives.
func (p process) runs() bool {
	return !errors.Is(unix.Kill(p.PID, 0), unix.ESRCH)
}
