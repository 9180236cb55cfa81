package main

// What Linux says of processes.

import (
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// linuxChildren are the children that are for Linux alone.
func linuxChildren() map[string]func(args []string) error {
	return map[string]func([]string) error{"stamp": stamp}
}

// procField is a number behind a name in one of a process's files, such as VmHWM in status. Sizes come in bytes.
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

// runs reports whether a process is there and is no zombie.
func runs(pid int) bool {
	state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	text := string(state)
	rest := text[strings.LastIndexByte(text, ')')+1:]
	return !strings.HasPrefix(rest, " Z") && !strings.HasPrefix(rest, " X")
}

// monotonic is the machine's clock, which is the same for all processes.
func monotonic() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err)
	}
	return time.Duration(now.Nano())
}

// keepDescriptors closes in all children what a shell or an editor has left open: acpterm closes such descriptors in
// each command, one system call for each number up to the highest, and others let commands have them.
func keepDescriptors() { unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) }

// cpuOf is how much processor time a process has used, its children not counted: its CPU-time clock, whose number is
// made of its pid as clock_getcpuclockid(3) does. ok is whether this system can tell.
func cpuOf(pid int) (used time.Duration, ok bool) {
	const scheduled = 2 // CPUCLOCK_SCHED
	var now unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|scheduled), &now); err != nil {
		return 0, false
	}
	return time.Duration(now.Nano()), true
}
