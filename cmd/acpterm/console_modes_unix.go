//go:build unix

package main

// This file hides the keys of the user, and notices that the user suspends the client.

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// hideTyping keeps a terminal from showing the user's keys, and returns a function that undoes this. It does nothing if
// another program is in the foreground.
func hideTyping(tty *os.File) (undo func()) {
	undo = func() {}
	control(tty, func(fd uintptr) error {
		foreground, err := unix.IoctlGetInt(int(fd), unix.TIOCGPGRP)
		foreground |= int(uint64(foreground) >> 32)                   // the system sets 32 bits, on a big-endian processor the upper ones
		if err != nil || int32(foreground) != int32(unix.Getpgrp()) { // the system would stop this process
			return err
		}
		before, err := unix.IoctlGetTermios(int(fd), getModes)
		if err != nil {
			return err
		}
		after := *before
		after.Lflag &^= unix.ECHO
		undo = func() {
			control(tty, func(fd uintptr) error { return unix.IoctlSetTermios(int(fd), setModes, before) })
		}
		return unix.IoctlSetTermios(int(fd), setModes, &after)
	})
	return undo
}

// onSuspend calls before when the user suspends this process, and after when it continues.
func onSuspend(before, after func()) {
	suspends, continues := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(suspends, syscall.SIGTSTP)
	signal.Notify(continues, syscall.SIGCONT)
	go func() {
		for range suspends {
			before()
			select {
			case <-continues: // one from before
			default:
			}
			syscall.Kill(syscall.Getpid(), syscall.SIGSTOP)
			<-continues // because other threads may run for a while after Kill
			after()
		}
	}()
}
