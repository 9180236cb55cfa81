package acpterm

// What a command may use: limits that the system enforces, from before the command's first instruction on.

import (
	"time"

	"github.com/acpterm/acpterm/internal/proc"
)

// Limits bound what a command uses. A field that is zero bounds nothing. What cannot be enforced here makes a create
// fail, with ErrInternal and the name of the field: a command never runs without a limit that it should have.
//
// On Linux, limits that no cgroup has take ptrace, for a moment before the command's first instruction. So a
// set-user-id program, or one with capabilities, runs without those under such limits, unless the host may trace it (as
// root may); and a create fails where ptrace is forbidden, or where a tracer follows the host's children (strace -f).
//
// On macOS and FreeBSD no limit can be enforced.
type Limits struct {
	// CPUTime is how much processor time each process may use, or the whole tree where Limit says so. It is rounded up
	// to seconds. A process beyond is sent SIGXCPU, and SIGKILL a second later; on Windows, where the time in the
	// kernel is not counted, the tree is terminated.
	CPUTime time.Duration
	// Memory is how many bytes each process may have as address space, or the whole tree as memory where Limit says so.
	// Address space is more than what is used: Go, Java and JavaScript programs reserve gigabytes that they never
	// touch. It is for the whole tree only with Options.Cgroup and on Windows.
	Memory int64
	// Processes is how many there may be in the tree, threads counted on Linux. By an rlimit, which is all there is
	// without a cgroup or a job object, it is how many the user may have on the whole machine for the command to start
	// another one. Linux does not enforce it for root, nor for users with CAP_SYS_RESOURCE or CAP_SYS_ADMIN: such hosts
	// need a cgroup.
	Processes int
	// OpenFiles is one more than the highest descriptor that each process may open. Not on Windows.
	OpenFiles int
	// FileSize is how many bytes a file may have that a process writes to. A process that writes on is
	// sent SIGXFSZ. Not on Windows.
	FileSize int64
	// Nice is added to the priority number of each process: 1 to 19 is less urgent. On Windows 1 to 9 is the priority
	// class below normal, and more is idle.
	Nice int
}

// EnforcedLimit is a limit as the system enforces it.
type EnforcedLimit struct {
	// Name is the field of Limits: "CPUTime", "Memory", "Processes", "OpenFiles", "FileSize", "Nice".
	Name string
	// Value is in the field's unit, seconds for CPUTime. It may be lower than what was asked for, where the host itself
	// has less.
	Value int64
	// By is what enforces it: "rlimit", "cgroup", "job object", "priority".
	By string
	// Tree says that it holds for the whole tree together, and not for each process or, as an rlimit for Processes
	// does, for all that the user runs.
	Tree bool
}

// asked are the limits that bound something, in the order of the fields. Nothing enforces them yet. The error names the
// option, which begins with prefix.
func (l Limits) asked(prefix string) (asked []proc.Limit, err error) {
	seconds := l.CPUTime / time.Second
	if l.CPUTime%time.Second > 0 {
		seconds++
	}
	for _, field := range []struct {
		name   string
		value  uint64
		usable bool
	}{
		{"CPUTime", uint64(seconds), l.CPUTime >= 0},
		{"Memory", uint64(l.Memory), l.Memory >= 0},
		{"Processes", uint64(l.Processes), l.Processes >= 0},
		{"OpenFiles", uint64(l.OpenFiles), l.OpenFiles >= 0},
		{"FileSize", uint64(l.FileSize), l.FileSize >= 0},
		{"Nice", uint64(l.Nice), l.Nice >= 0 && l.Nice <= 19},
	} {
		switch {
		case !field.usable:
			return nil, optionError(prefix+"Limits."+field.name, "is out of range")
		case field.value > 0:
			asked = append(asked, proc.Limit{Name: field.name, Value: field.value})
		}
	}
	return asked, nil
}
