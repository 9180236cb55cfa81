//go:build darwin || freebsd

package lawtest

// Trees on macOS and FreeBSD: what is found there, and what ps knows of a process.

import (
	"strings"

	"github.com/acpterm/acpterm/internal/hosttest"
)

// nasty are without the daemons: what leaves the session and loses its parent is not found here.
var nasty = []string{
	"ignores-sigterm", "grandchild-ignores-sigterm", "setsid", "setsid-silent-naked", "holds-the-output", "forks",
	"stops-itself", "polite",
}

// inTime are the children whose trees are found only if somebody looks in time: while they have a parent.
var inTime = map[string]bool{"setsid": true, "setsid-silent-naked": true}

func stateOf(pid int) string {
	state, _, _ := strings.Cut(hosttest.PS(pid), " ")
	return state
}
