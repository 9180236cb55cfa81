//go:build unix

package capture

// Draining a PTY, on Unix.

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// maxPTY is more than a PTY holds: on Linux, 4 KiB in the line discipline, 8 KiB before it, and the last write.
const maxPTY = 64 << 10

// readPTY reads the master until it is empty, or until it has read more bytes than a PTY can hold, so that everything
// written before the call has been read.
//
// A PTY does not report how much it holds: output passes through a kernel queue that FIONREAD does not count. But a
// nonblocking read fails with EAGAIN only if that queue is also empty (Linux 4.7, commit 0f40fbbcc34e, for OpenSSH).
// macOS and FreeBSD do not have such a queue. readPTY fails with io.EOF, or EIO on Linux, if the master is empty and
// every process has closed the terminal.
func (r *Reader) readPTY() error {
	raw, err := r.pipe.SyscallConn()
	if err != nil {
		return err
	}
	for left := maxPTY; left > 0; {
		n, room := 0, r.sink.Reserve(min(left, maxRead))
		controlErr := raw.Control(func(fd uintptr) { n, err = unix.Read(int(fd), room) })
		r.sink.Commit(max(n, 0))
		left -= n
		switch {
		case controlErr != nil:
			return controlErr
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			return nil
		case err != nil:
			return os.NewSyscallError("read", err)
		case n == 0:
			return io.EOF
		}
	}
	return nil
}
