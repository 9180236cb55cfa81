package main

// The processor time of another process.

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuOf is how much processor time a process has used, its children not counted: its CPU-time clock, whose number is made
// of its pid as clock_getcpuclockid(3) does. ok is whether this system can tell.
func cpuOf(pid int) (used time.Duration, ok bool) {
	const scheduled = 2 // CPUCLOCK_SCHED
	var now unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|scheduled), &now); err != nil {
		return 0, false
	}
	return time.Duration(now.Nano()), true
}
