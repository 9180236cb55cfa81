//go:build unix && !linux

package journal

import (
	"errors"

	"golang.org/x/sys/unix"
)

// Boot is empty here.
func Boot() (string, error) { return "", nil }

func newProcess(pid int) (Process, error) { return Process{PID: pid}, nil }

// runs reports whether some process has the number. A host's record thus may be kept for too long, but is never
// taken from one that lives.
func (p Process) runs() bool {
	return !errors.Is(unix.Kill(p.PID, 0), unix.ESRCH)
}
