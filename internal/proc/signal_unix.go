//go:build unix

package proc

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// nameOf is a signal's name; empty if it has none.
func nameOf(sig syscall.Signal) string { return unix.SignalName(sig) }

// numberOf is the signal with a name; 0 if there is none.
func numberOf(name string) syscall.Signal { return unix.SignalNum(name) }
