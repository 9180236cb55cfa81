package acpterm

// Pipes of commands that write without end, made wider: the command then goes on writing while its output is taken, and
// neither waits for the other after each 64 KiB.

import (
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

const (
	wideSize = 512 << 10 // bytes; more than that and the ring buffer is not in a processor's cache together
	mostWide = 8         // pipes at once, for a user has an allowance of them (man 7 pipe, pipe-user-pages-soft)
)

// widePipes counts those of one manager. The zero value is ready. Its methods may be called concurrently.
type widePipes struct{ open atomic.Int32 }

// widen makes a pipe wider, if there are not too many that are, and returns what is to be called when it is closed. Where
// the system refuses, the pipe stays as it is.
func (w *widePipes) widen(pipe *os.File) (closed func()) {
	if w.open.Add(1) > mostWide {
		w.open.Add(-1)
		return func() {}
	}
	if raw, err := pipe.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { unix.FcntlInt(fd, unix.F_SETPIPE_SZ, wideSize) })
	}
	return func() { w.open.Add(-1) }
}
