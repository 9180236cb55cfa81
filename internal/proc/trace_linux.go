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
