//go:build unix

package capture

// Reading what a PTY holds, on Unix.

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// maxPTY is more than a PTY holds: on Linux, 4 KiB in the line discipline and 8 KiB before it, and the last write.
const maxPTY = 64 << 10

// readPTY reads the master until nothing is left in it, or so much was read that all of it was written later.
//
// A PTY does not say how much it holds: what was written goes through a queue of the kernel's, which FIONREAD does not
// count. But a read that does not wait fails with EAGAIN only when that queue is empty too (Linux 4.7, commit
// 0f40fbbcc34e, for OpenSSH); macOS and FreeBSD have no such queue. The error is io.EOF, or EIO on Linux, when every
// process has closed the terminal and nothing is left.
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
