package acpterm

import (
	"os"

	"golang.org/x/sys/unix"
)

// wideSize is how many bytes a pipe holds that was widened. Four times as many take a third more of the processor: together
// with the ring buffer they do not fit into its nearer caches.
const wideSize = 128 << 10

// widen makes a pipe wider: a command that writes without end then goes on writing while its output is taken, and neither
// waits for the other each time. Where the system refuses, the pipe stays as it is.
func widen(pipe *os.File) {
	if raw, err := pipe.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { unix.FcntlInt(fd, unix.F_SETPIPE_SZ, wideSize) })
	}
}
