package main

// What the table was measured on.

import (
	"fmt"
	"os/exec"
	"runtime"
	"strings"
)

func describeMachine() string {
	return fmt.Sprintf("%s, %d cores, %s, %s, Node %s", orUnknown(cpuModel()), runtime.NumCPU(), orUnknown(kernel()), runtime.Version(),
		orUnknown(strings.TrimSpace(nodeVersion())))
}

func orUnknown(text string) string {
	if text == "" {
		return "unknown"
	}
	return text
}

func nodeVersion() string {
	out, err := exec.Command("node", "--version").Output()
	if err != nil {
		return "not installed"
	}
	return string(out)
}
