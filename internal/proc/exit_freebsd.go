package proc

import (
	"errors"
	"syscall"
)

// noteExitStatus makes kqueue's exit event carry the wait status; FreeBSD does so without being asked.
const noteExitStatus = 0

// seesEarlyExits is that awaitEarly can do it. FreeBSD does not need it: its kqueue reports zombies.
const seesEarlyExits = false

func awaitEarly(int) (syscall.WaitStatus, error) { return 0, errors.ErrUnsupported }
