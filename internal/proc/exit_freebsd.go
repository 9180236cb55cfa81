package proc

import (
	"errors"
	"syscall"
)

// noteExitStatus is the flag for wait statuses in exit events. FreeBSD needs none: its events always carry them.
const noteExitStatus = 0

// seesEarlyExits reports whether awaitEarly is supported. FreeBSD does not need it: its kqueue reports zombies.
const seesEarlyExits = false

func awaitEarly(int) (syscall.WaitStatus, error) { return 0, errors.ErrUnsupported }
