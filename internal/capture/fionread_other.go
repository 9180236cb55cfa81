//go:build unix && !linux

package capture

import "golang.org/x/sys/unix"

// pending returns the number of unread bytes in a pipe.
func pending(pipe int) (int, error) {
	const fionread = 0x4004667f // _IOR('f', 127, int)
	return unix.IoctlGetInt(pipe, fionread)
}
