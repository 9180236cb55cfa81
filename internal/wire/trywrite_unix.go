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
		n, _ = retry(func() (int, error) { return unix.Write(int(fd), p) })
		return true // whatever came of it: not to be called again when there is room
	})
	return max(n, 0)
}

// retry makes a system call again for as long as signals interrupt it.
func retry(call func() (int, error)) (n int, err error) {
	for n, err = call(); err == unix.EINTR; {
		n, err = call()
	}
	return n, err
}
