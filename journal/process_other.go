//go:build unix && !linux

package journal

// Identification of processes across crashes of the host, on macOS, FreeBSD and other Unixes.

import (
	"errors"

	"golang.org/x/sys/unix"
)

// bootID is empty on these systems.
func bootID() (string, error) { return "", nil }

func newProcess(pid int) (process, error) { return process{PID: pid}, nil }

// runs reports whether any process has the number. A host's record may thus be kept for too long, but is never taken
// from a living host.
func (p process) runs() bool {
	return !errors.Is(unix.Kill(p.PID, 0), unix.ESRCH)
}
