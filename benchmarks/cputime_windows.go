package main

// The processor time of this process.

import (
	"syscall"
	"time"
)

// ownCPU is how much processor time this process has used, its children not counted.
func ownCPU() time.Duration {
	var created, exited, kernel, user syscall.Filetime
	process, err := syscall.GetCurrentProcess()
	if err == nil {
		err = syscall.GetProcessTimes(process, &created, &exited, &kernel, &user)
	}
	if err != nil {
		panic(err)
	}
	ticks := func(t syscall.Filetime) int64 { return int64(t.HighDateTime)<<32 + int64(t.LowDateTime) }
	return time.Duration((ticks(kernel) + ticks(user)) * 100)
}
