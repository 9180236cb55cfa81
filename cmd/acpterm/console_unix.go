//go:build unix

package main

// On Unix, the user is at the controlling terminal of the process, wherever standard input comes from.

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func openConsole() (io.Reader, io.Writer, error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	return tty, tty, err
}

// enableColours reports whether a terminal shows colours.
func enableColours(*os.File) bool { return true }

// control calls do with the file's descriptor.
func control(file *os.File, do func(fd uintptr) error) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	failed := raw.Control(func(fd uintptr) { err = do(fd) })
	return errors.Join(failed, err)
}

func openTerminal() (*os.File, error) { return os.OpenFile("/dev/tty", os.O_RDWR, 0) }

// onResize calls resized when the size of the terminal changes, until stop has returned.
func onResize(resized func()) (stop func()) {
	changes := make(chan os.Signal, 1)
	signal.Notify(changes, syscall.SIGWINCH)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-changes:
				resized()
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(changes)
		close(done)
		<-ended
	}
}
