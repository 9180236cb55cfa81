// Package procfs reads the system's process table: /proc on Linux, and sysctl kern.proc on macOS and FreeBSD. It does
// not support other systems. On Linux it also signals a process through a handle that cannot refer to any other
// process. It imports only the standard library and x/sys, and does not know about process trees. The caller closes
// each Handle and Table, and distinguishes errors about a process (IsGone, fs.ErrPermission) from local errors,
// such as EMFILE. The functions are safe for concurrent use.
package procfs

// ID identifies a process uniquely until the next boot, unless the system reuses its number within a clock tick.
type ID struct {
	PID     int
	Started uint64 // on Linux clock ticks since boot, elsewhere microseconds since 1970
}

// After reports whether a process started after another process. Within one tick it compares the numbers, which the
// system assigns in increasing order.
func (id ID) After(other ID) bool {
	return id.Started > other.Started || id.Started == other.Started && id.PID > other.PID
}

// Process is a snapshot of one entry of the process table.
type Process struct {
	ID
	Parent, Group, Session int
	Kernel                 bool // it is a kernel thread; known only on Linux
	Exited                 bool // it is a zombie, as are all its threads
	Stopped                bool // a signal stopped it; known only on Linux, like the fields below
	MainExited             bool // its main thread has exited, but other threads run; their environ has the environment
	Forked                 bool // it has executed no program since its fork
	Executing              bool // it is in execve or about to exit, so its environment may be missing
	Environ                int  // size of its environment in bytes, if readable
}
