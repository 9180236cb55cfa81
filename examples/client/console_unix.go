//go:build unix

package main

// The Unixes: the person is at the terminal that controls the process, wherever standard input comes from.

import (
	"errors"
	"io"
	"os"
)

func openConsole() (io.Reader, io.Writer, error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	return tty, tty, err
}

// enableColours reports whether a terminal shows colours.
func enableColours(*os.File) bool { return true }

// control calls a function with a file's descriptor.
func control(file *os.File, do func(fd uintptr) error) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	failed := raw.Control(func(fd uintptr) { err = do(fd) })
	return errors.Join(failed, err)
}
