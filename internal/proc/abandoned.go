package proc

import (
	"syscall"
	"time"

	"github.com/acpterm/acpterm/internal/procfs"
)

// Abandoned is a tree whose host has died, for one goroutine at a time: the kernel kills the leader with its host,
// unless it is set-user-id, and its number may be another process's now. Its members are the processes that carry its
// mark, their sessions and children, and all that is in its cgroup.
type Abandoned struct {
	Mark   Mark
	Leader procfs.ID // zero if it is not known
	Cgroup string    // the directory of its own cgroup; empty: none

	// EndAbandoned sets the rest.
	Ended []int // processes that ran and were ended, in no order
	Left  []int // processes that still run
	Err   error // why they could not be found; errors.ErrUnsupported where no system call tells; nil otherwise
}

// Step is a signal, and how long processes that get it may take to end.
type Step struct {
	Signal syscall.Signal
	Wait   time.Duration
}
