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

// linuxChildren returns the children that only exist on Linux.
func linuxChildren() map[string]func(args []string) error {
	return map[string]func([]string) error{"stamp": stamp, "sessions": sessions, "page": page}
}

// procField returns a number from one of a process's files in /proc, such as VmHWM from status. Sizes are in bytes.
func procField(pid int, file, name string) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		value, ok := strings.CutPrefix(line, name+":")
		if !ok {
			continue
		}
		fields := strings.Fields(value)
		n := float64(number(fields[0]))
		if len(fields) > 1 && fields[1] == "kB" {
			n *= 1 << 10
		}
		return n, nil
	}
	return 0, fmt.Errorf("/proc/%d/%s has no %s", pid, file, name)
}

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
func monotonic() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err)
	}
	return time.Duration(now.Nano())
}

// keepDescriptors makes all children close the descriptors left open by a shell or an editor. acpterm closes such
// descriptors in each command, with one system call for each number up to the highest. Other clients let commands
// inherit them.
func keepDescriptors() { unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) }

// cpuOf returns the processor time used by a process, excluding its children. It reads the CPU-time clock of the
// process, and computes its number from the pid like clock_getcpuclockid(3). ok is false if the system does not have
// the clock.
func cpuOf(pid int) (used time.Duration, ok bool) {
	const scheduled = 2 // CPUCLOCK_SCHED
	var now unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|scheduled), &now); err != nil {
		return 0, false
	}
	return time.Duration(now.Nano()), true
}
