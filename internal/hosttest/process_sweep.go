//go:build darwin || freebsd

package hosttest

// What ps knows of a process.

import (
	"fmt"
	"os/exec"
	"strings"
)

// StartTime is when a process started, to the second; empty if it is not there, or a zombie.
func StartTime(pid int) string {
	state, started, _ := strings.Cut(PS(pid), " ")
	if strings.HasPrefix(state, "Z") {
		return ""
	}
	return started
}

// PS is a process's state and start; empty if it is not there.
func PS(pid int) string {
	out, _ := exec.Command("ps", "-o", "stat=", "-o", "lstart=", "-p", fmt.Sprint(pid)).Output()
	return strings.TrimSpace(string(out))
}
