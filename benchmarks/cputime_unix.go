//go:build unix

package main

// The processor time of this process.

import (
	"syscall"
	"time"
)

// ownCPU is how much processor time this process has used, its children not counted.
func ownCPU() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
