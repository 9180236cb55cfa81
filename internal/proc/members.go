package proc

// This file describes the processes of a tree to an observer. The rest is in members_linux.go and members_other.go.

import (
	"net/netip"
	"time"
)

// A Member is a running process of a tree.
type Member struct {
	PID, Parent int
	// Command is the command line, with the arguments separated by spaces. It is cut after 4 KiB. The process can
	// change it, so it may contain anything, also secrets.
	Command string
	// CPUTime is the CPU time used by the process and by its children that have ended, and Memory the resident memory
	// in bytes.
	CPUTime time.Duration
	Memory  int64
	// Runnable means that a processor runs the process, or should. It is known only on Linux.
	Runnable bool
	// ReadsInput means that the process is blocked in a read of the command's PTY or of the pipe that is its standard
	// input. PollsInput means that it waits for several files, including that one.
	ReadsInput, PollsInput bool
	// Listening lists the TCP addresses on which the process accepts connections, in this network namespace.
	Listening []netip.AddrPort
}
