//go:build darwin || freebsd

package acpterm_test

// Trees on macOS and FreeBSD: what is found there, and what ps knows of a process.

import (
	"fmt"
	"os/exec"
	"strings"
)

// nasty are without the daemons: what leaves the session and loses its parent is not found here.
var nasty = []string{
	"ignores-sigterm", "grandchild-ignores-sigterm", "setsid", "setsid-silent-naked", "holds-the-output", "forks",
	"stops-itself", "polite",
}

// inTime are the children whose trees are found only if somebody looks in time: while they have a parent.
var inTime = map[string]bool{"setsid": true, "setsid-silent-naked": true}

// startTime is when a process started, to the second; empty if it is not there, or a zombie.
func startTime(pid int) string {
	state, started, _ := strings.Cut(ps(pid), " ")
	if strings.HasPrefix(state, "Z") {
		return ""
	}
	return started
}

func stateOf(pid int) string {
	state, _, _ := strings.Cut(ps(pid), " ")
	return state
}

// ps is a process's state and start; empty if it is not there.
func ps(pid int) string {
	out, _ := exec.Command("ps", "-o", "stat=", "-o", "lstart=", "-p", fmt.Sprint(pid)).Output()
	return strings.TrimSpace(string(out))
}
