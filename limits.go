package acpterm

// What a command may use: limits that the system enforces, from before the command's first instruction on. How, is in
// limits_*.go.

import "time"

// Limits bound what a command uses. A field that is zero bounds nothing. What cannot be enforced here makes a create
// fail, with ErrInternal: a command never runs without a limit that it should have.
type Limits struct {
	// CPUTime is how much processor time each process may use, or the whole tree where Limit says so. It is rounded up
	// to seconds. A process beyond is sent SIGXCPU, then SIGKILL.
	CPUTime time.Duration
	// Memory is how many bytes each process may have as address space, or the whole tree as memory where Limit says so.
	Memory uint64
	// Processes is how many there may be in the tree; by an rlimit, which is all there is without a cgroup or a job object,
	// how many the user may have on the whole machine, and root as many as it likes.
	Processes int
	// OpenFiles is how many files each process may have open.
	OpenFiles int
	// FileSize is how many bytes a file may have that a process writes to.
	FileSize uint64
	// Nice is added to the priority number of each process: 1 to 19 is less urgent.
	Nice int
}

// EnforcedLimit is a limit as the system enforces it.
type EnforcedLimit struct {
	// Name is the field of Limits: "CPUTime", "Memory", "Processes", "OpenFiles", "FileSize", "Nice".
	Name string
	// Value is in the field's unit, seconds for CPUTime. It may be lower than what was asked for, where the host itself
	// has less.
	Value uint64
	// By is what enforces it: "rlimit", "cgroup", "job object", "priority".
	By string
	// Tree says that it holds for the whole tree together, and not for each process or, as an rlimit for Processes
	// does, for all that the user runs.
	Tree bool
}
