//go:build darwin || freebsd

package hosttest

// Information from ps about a process.

import (
	"fmt"
	"os/exec"
	"strings"
)

// StartTime returns the start time of a process, to the second, or "" if it does not exist or is a zombie.
func StartTime(pid int) string {
	state, started, _ := strings.Cut(PS(pid), " ")
	if strings.HasPrefix(state, "Z") {
		return ""
	}
	return started
}

// PS returns the state and start time of a process, or "" if it does not exist.
func PS(pid int) string {
	out, _ := exec.Command("ps", "-o", "stat=", "-o", "lstart=", "-p", fmt.Sprint(pid)).Output()
	return strings.TrimSpace(string(out))
}
