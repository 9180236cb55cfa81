//go:build unix

package main

// This file changes how the user's terminal treats keys, and notices that the user suspends the client.

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// hideTyping keeps a terminal from showing the user's keys, and returns a function that undoes this. It does nothing if
// another program is in the foreground.
func hideTyping(tty *os.File) (undo func()) {
	return changeModes(tty, func(modes *unix.Termios) { modes.Lflag &^= unix.ECHO })
}

// passKeys makes a terminal pass on each key that the user types, including those that send signals. It returns a
// function that undoes this. Printing is not affected.
func passKeys(tty *os.File) (undo func()) {
	return changeModes(tty, func(modes *unix.Termios) {
		modes.Iflag &^= unix.ICRNL | unix.INLCR | unix.IGNCR | unix.ISTRIP | unix.IXON
		modes.Lflag &^= unix.ECHO | unix.ICANON | unix.ISIG | unix.IEXTEN
		modes.Cc[unix.VMIN], modes.Cc[unix.VTIME] = 1, 0
	})
}

// awaitKeys makes a terminal pass on each key at once, except those that send signals, and keeps it from showing them.
// It returns a function that undoes this.
func awaitKeys(tty *os.File) (undo func()) {
	return changeModes(tty, func(modes *unix.Termios) {
		modes.Lflag &^= unix.ECHO | unix.ICANON
		modes.Cc[unix.VMIN], modes.Cc[unix.VTIME] = 1, 0
	})
}

func changeModes(tty *os.File, change func(*unix.Termios)) (undo func()) {
	undo = func() {}
	control(tty, func(fd uintptr) error {
		foreground, err := unix.IoctlGetInt(int(fd), unix.TIOCGPGRP)
		if err != nil || foreground != unix.Getpgrp() { // the system would stop this process
			return err
		}
		before, err := unix.IoctlGetTermios(int(fd), getModes)
		if err != nil {
			return err
		}
		after := *before
		change(&after)
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
