//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package main

// macOS and the BSDs.

import (
	"os"

	"golang.org/x/sys/unix"
)

// discardInput drops unread input of a terminal, and the line that the user has begun.
func discardInput(tty *os.File) error {
	const read = 1 // FREAD of <sys/fcntl.h>
	return control(tty, func(fd uintptr) error { return unix.IoctlSetPointerInt(int(fd), unix.TIOCFLUSH, read) })
}
