//go:build unix

package remote

// The pipes of a Command on Unix.

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// left reads the present contents of a pipe without waiting.
func left(pipe *os.File) []byte {
	pipe.SetReadDeadline(time.Time{})
	raw, err := pipe.SyscallConn()
	if err != nil {
		return nil
	}
	var all []byte
	buffer := make([]byte, 64<<10)
	raw.Read(func(fd uintptr) bool {
		for len(all) < maxLeft {
			n, err := syscall.Read(int(fd), buffer)
			switch {
			case errors.Is(err, syscall.EINTR):
			case n <= 0:
				return true
			default:
				all = append(all, buffer[:n]...)
			}
		}
		return true
	})
	return all
}
