package hosttest

// Information from /proc about a process.

import (
	"fmt"
	"os"
	"strings"
)

// StatOf returns the fields of a process's stat in /proc, from its state on. They are empty if the process does not
// exist.
func StatOf(pid int) []string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return make([]string, 20)
	}
	return strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
}

// StartTime returns the start time of a process in clock ticks since boot, or "" if it does not exist or is a zombie.
func StartTime(pid int) string {
	fields := StatOf(pid)
	if fields[0] == "Z" || fields[0] == "X" {
		return ""
	}
	return fields[19]
}
