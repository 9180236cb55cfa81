//go:build unix

package wire

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// rawWriter is a descriptor in non-blocking mode.
type rawWriter struct{ raw syscall.RawConn }

func newRawWriter(raw syscall.RawConn) tryWriter {
	nonblocking := false
	raw.Control(func(fd uintptr) {
		flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0)
		nonblocking = err == nil && flags&unix.O_NONBLOCK != 0
	})
	if !nonblocking {
		return nil
	}
	return rawWriter{raw}
}

func (w rawWriter) tryWrite(p []byte) (n int) {
	w.raw.Write(func(fd uintptr) (done bool) {
		n, _ = unix.Write(int(fd), p)
		return true // after an error too: a caller that may block writes the line then
	})
	return max(n, 0)
}
