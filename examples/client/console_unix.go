//go:build unix

package main

// The Unixes: the person is at the terminal that controls the process, wherever standard input comes from.

import (
	"io"
	"os"
)

func openConsole() (io.Reader, io.Writer, error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	return tty, tty, err
}

// enableColours reports whether a terminal shows colours.
func enableColours(*os.File) bool { return true }
