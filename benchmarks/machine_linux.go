package main

// The machine, on Linux.

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

func cpuModel() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func kernel() string {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return ""
	}
	return unix.ByteSliceToString(name.Sysname[:]) + " " + unix.ByteSliceToString(name.Release[:])
}
