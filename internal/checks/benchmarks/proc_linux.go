package main

// Information from Linux about processes.

import (
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// runs reports whether a process exists and is not a zombie.
func runs(pid int) bool {
	state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	text := string(state)
	rest := text[strings.LastIndexByte(text, ')')+1:]
	return !strings.HasPrefix(rest, " Z") && !strings.HasPrefix(rest, " X")
}

// monotonic returns the time of the machine's clock, which all processes share.
func monotonic() time.Duration { return clock(unix.CLOCK_MONOTONIC) }

func clock(id int32) time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(id, &now); err != nil {
		panic(err)
	}
	return time.Duration(now.Nano())
}

// keepDescriptors makes all children close the descriptors left open by a shell or an editor. acpterm closes such
// descriptors in each command, with one system call for each number up to the highest. Other clients let commands
// inherit them.
func keepDescriptors() { unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) }

// cpuOf returns the processor time used by a process, excluding its children. It reads the CPU-time clock of the
// process, and computes its number from the pid like clock_getcpuclockid(3).
func cpuOf(pid int) time.Duration {
	const scheduled = 2 // CPUCLOCK_SCHED
	return clock(int32(^pid<<3 | scheduled))
}
