//go:build unix && !(darwin || dragonfly || freebsd || netbsd || openbsd)

package main

// This file is for Linux and other Unixes with System V's request.

import (
	"os"

	"golang.org/x/sys/unix"
)

// discardInput drops a terminal's unread input, including the line that the user has begun.
func discardInput(tty *os.File) error {
	return control(tty, func(fd uintptr) error { return unix.IoctlSetInt(int(fd), unix.TCFLSH, unix.TCIFLUSH) })
}

// Requests for the modes of a terminal.
const (
	getModes = unix.TCGETS
	setModes = unix.TCSETS
)
