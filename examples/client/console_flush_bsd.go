//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package main

// macOS and the BSDs.

import (
	"os"

	"golang.org/x/sys/unix"
)

// discardInput drops what has been typed on a terminal and not been read, also of a line without its end.
func discardInput(tty *os.File) error {
	const read = 1 // FREAD of <sys/fcntl.h>
	return control(tty, func(fd uintptr) error { return unix.IoctlSetPointerInt(int(fd), unix.TIOCFLUSH, read) })
}
