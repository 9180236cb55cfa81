//go:build unix

package capture

// Reading a pipe, and how many bytes lie in it, on Unix.

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// readPipe reads what lies in a pipe, or waits for it.
func readPipe(pipe *os.File, p []byte) (int, error) { return pipe.Read(p) }

// unread is how many bytes lie in a pipe. Its error is io.EOF when it is empty and every writer has closed it.
func unread(pipe *os.File) (n int, err error) {
	raw, err := pipe.SyscallConn()
	if err != nil {
		return 0, err
	}
	controlErr := raw.Control(func(fd uintptr) {
		closed := hungUp(int(fd)) // before the count, which is final then
		if n, err = unix.IoctlGetInt(int(fd), fionread); n == 0 && err == nil && closed {
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
