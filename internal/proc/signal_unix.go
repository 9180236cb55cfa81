//go:build unix

package proc

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// nameOf returns a signal's name, or an empty string.
func nameOf(sig syscall.Signal) string { return unix.SignalName(sig) }
