//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package main

// This file is for macOS and the BSDs.

import (
	"os"

	"golang.org/x/sys/unix"
)

// discardInput drops a terminal's unread input, including the line that the user has begun.
func discardInput(tty *os.File) error {
	const read = 1 // FREAD of <sys/fcntl.h>
	return control(tty, func(fd uintptr) error { return unix.IoctlSetPointerInt(int(fd), unix.TIOCFLUSH, read) })
}

// Requests for the modes of a terminal.
const (
	getModes = unix.TIOCGETA
	setModes = unix.TIOCSETA
)
