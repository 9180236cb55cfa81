package proc

// This file names programs in the trace, on Linux.

import (
	"os"
	"strconv"
	"strings"
)

// programOf returns the name of a process's program, at most 15 bytes, and whether the process exists.
func programOf(pid int) (name string, exists bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
	return strings.TrimSuffix(string(text), "\n"), err == nil
}

// looks tells which processes a scan examines.
func (t *trace) looks(which string) {
	if t != nil {
		t.once("examines", 0, 0, which, nil)
	}
}
