// Package procfs reads the system's process table: /proc on Linux, sysctl kern.proc on macOS and FreeBSD, nothing
// elsewhere. On Linux it also signals one process at a time, through a handle that can mean no other. It imports the
// standard library and x/sys, and knows nothing of process trees. A caller closes each Handle and Counters, and tells
// errors about a process (IsGone, fs.ErrPermission) from those about its own program, such as EMFILE. Functions may be
// called concurrently.
package procfs

// ID tells a process from every other one of this boot of the machine, unless its number comes round within a tick.
type ID struct {
	PID     int
	Started uint64 // on Linux clock ticks after the machine's start, elsewhere microseconds since 1970
}

// After reports whether a process began after another one. In one tick the numbers tell, which are given out in order.
func (id ID) After(other ID) bool {
	return id.Started > other.Started || id.Started == other.Started && id.PID > other.PID
}

// Process is one line of the process table, as it was when it was read.
type Process struct {
	ID
	Parent, Group, Session int
	Kernel                 bool // it is a thread of the kernel's own; known on Linux alone
	Exited                 bool // it is a zombie, and so are all its threads
	Stopped                bool // by a signal; known on Linux alone, as are the fields below
	MainExited             bool // its main thread has exited, and others run on: their environ shows its environment
	Executing              bool // it is becoming another program or about to exit: its environment may be missing
	Environ                int  // bytes of its environment, where it may be seen
}
