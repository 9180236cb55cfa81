package hosttest

// What /proc knows of a process.

import (
	"fmt"
	"os"
	"strings"
)

// StatOf are the fields of a process's stat in /proc from its state on; empty ones if it is not there.
func StatOf(pid int) []string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return make([]string, 20)
	}
	return strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
}

// StartTime is when a process started, in clock ticks after the machine; empty if it is not there, or a zombie.
func StartTime(pid int) string {
	fields := StatOf(pid)
	if fields[0] == "Z" || fields[0] == "X" {
		return ""
	}
	return fields[19]
}
