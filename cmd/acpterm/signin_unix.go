//go:build unix

package main

// This file finds the user's terminal on Unix, as openConsole does.

import (
	"os"
	"os/signal"
	"syscall"
)

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
