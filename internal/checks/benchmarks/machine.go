package main

// A description of the machine for the table.

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
)

// describeMachine describes the machine and the software. It needs /proc to name the processor and the kernel.
func describeMachine() string {
	const unknown = "unknown"
	processor := unknown
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			processor = strings.TrimSpace(value)
		}
	}
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	version, _ := exec.Command("node", "--version").Output()
	return fmt.Sprintf("%s, %d cores, %s %s, %s, Node %s", processor, runtime.NumCPU(), runtime.GOOS,
		cmp.Or(strings.TrimSpace(string(kernel)), unknown), runtime.Version(),
		cmp.Or(strings.TrimSpace(string(version)), unknown))
}

// load is the load of the machine.
type load struct {
	average       string  // of the last minute, in processes
	total, stolen float64 // processor time, and how much of it other virtual machines have used
}

func readLoad() (l load) {
	average, _ := os.ReadFile("/proc/loadavg")
	l.average, _, _ = strings.Cut(string(average), " ")
	times, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(times), "\n")
	for i, field := range strings.Fields(line) {
		switch ticks, err := strconv.ParseFloat(field, 64); {
		case err != nil || i > 8: // the name, and times that are in others, too
		case i == 8:
			l.stolen = ticks
			fallthrough
		default:
			l.total += ticks
		}
	}
	return l
}

// untilNow describes the load since l was read.
func (l load) untilNow() string {
	now := readLoad()
	if now.total == l.total {
		return "load: unknown"
	}
	return fmt.Sprintf("load: %s at the start; other virtual machines took %.1f %% of the processor time", l.average,
		100*(now.stolen-l.stolen)/(now.total-l.total))
}
