//go:build freebsd || netbsd || openbsd || dragonfly

package acpterm

// What of a child's exit is the BSDs' own: how kqueue gives its status.

import (
	"errors"

	"golang.org/x/sys/unix"
)

// noteExitStatus makes kqueue's exit event carry the wait status; the BSDs do so unasked.
const noteExitStatus = 0

// seesEarlyExits is that awaitEarly can do it. FreeBSD and DragonFly do not need it: their kqueue reports zombies. On
// NetBSD and OpenBSD a command that exits in the microseconds between its start and the watch counts as one that
// could not be started.
const seesEarlyExits = false

func awaitEarly(int) (unix.WaitStatus, error) { return 0, errors.ErrUnsupported }
