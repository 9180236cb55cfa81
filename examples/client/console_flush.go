//go:build unix && !(darwin || dragonfly || freebsd || netbsd || openbsd)

package main

// Linux, and the other Unixes with System V's request.

import (
	"os"

	"golang.org/x/sys/unix"
)

// discardInput drops what has been typed on a terminal and not been read, also of a line without its end.
func discardInput(tty *os.File) error {
	return control(tty, func(fd uintptr) error { return unix.IoctlSetInt(int(fd), unix.TCFLSH, unix.TCIFLUSH) })
}
