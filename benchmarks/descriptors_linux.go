package main

import (
	"math"

	"golang.org/x/sys/unix"
)

// keepDescriptors has no subject pay for what a shell or an editor has left open: acpterm closes such descriptors in each
// command, one system call for each number up to the highest, and others let commands have them.
func keepDescriptors() { unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) }
