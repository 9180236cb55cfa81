//go:build unix

package capture

// Reading from a pipe, and counting its unread bytes, on Unix.

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

func readPipe(pipe *os.File, p []byte) (int, error) { return pipe.Read(p) }

// unread returns the number of unread bytes in a pipe. It fails with io.EOF if the pipe is empty and closed.
func unread(pipe *os.File) (n int, err error) {
	raw, err := pipe.SyscallConn()
	if err != nil {
		return 0, err
	}
	controlErr := raw.Control(func(fd uintptr) {
		closed := hungUp(int(fd)) // check before counting: if closed, the count is final
		if n, err = pending(int(fd)); n == 0 && err == nil && closed {
			err = io.EOF
		}
	})
	return n, errors.Join(controlErr, err)
}

// hungUp reports whether every writer has closed a pipe (POLLHUP in man 2 poll).
func hungUp(fd int) bool {
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(poll, 0)
		if err != unix.EINTR {
			return err == nil && n > 0 && poll[0].Revents&unix.POLLHUP != 0
		}
	}
}
