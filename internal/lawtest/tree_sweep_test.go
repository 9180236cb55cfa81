//go:build darwin || freebsd

package lawtest

// Trees on macOS and FreeBSD: processes that can be found there, and process information from ps.

import (
	"strings"

	"github.com/acpterm/acpterm/internal/hosttest"
)

// nasty omits the daemons: processes that leave the session and lose their parent cannot be found here.
var nasty = []string{
	"ignores-sigterm", "grandchild-ignores-sigterm", "setsid", "setsid-silent-naked", "holds-the-output", "forks",
	"stops-itself", "polite",
}

// inTime lists the children whose trees are found only while they have a parent.
var inTime = map[string]bool{"setsid": true, "setsid-silent-naked": true}

func stateOf(pid int) string {
	state, _, _ := strings.Cut(hosttest.PS(pid), " ")
	return state
}

// systemChildren returns the children for this system's tests.
func systemChildren() map[string]func(args []string) { return nil }
