package main

// A description of the machine for the table.

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// describeMachine describes the machine and the software.
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
