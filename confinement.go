package acpterm

// The confinement of commands: Limits, which the system enforces from before the command's first instruction, and a
// Sandbox, which rewrites the command just before it starts. Package bubblewrap has a Sandbox for Linux.

import (
	"context"
	"os"
	"time"

	"github.com/acpterm/acpterm/internal/proc"
)

// Limits bounds the resources of a command. Zero fields set no bound. If the system cannot enforce a limit, the create
// fails with ErrInternal and the name of the field, since no command is run without one of its limits.
//
// On Linux, limits that no cgroup enforces use ptrace before the command's first instruction. Set-user-id programs and
// programs with capabilities then run without these privileges, unless the host may trace them, as root may. A create
// fails if ptrace is forbidden or the host's children are already traced (strace -f).
//
// On macOS and FreeBSD, no limits can be enforced.
type Limits struct {
	// CPUTime is the maximum CPU time of each process, or of the whole tree if EnforcedLimit.Tree is set. It is rounded
	// up to seconds. A process exceeding it receives SIGXCPU, and SIGKILL a second later. On Windows, only time spent
	// outside the kernel counts, and the whole tree is terminated.
	CPUTime time.Duration
	// Memory is the maximum address space of each process in bytes, or the maximum memory of the whole tree if
	// EnforcedLimit.Tree is set, which is the case with Options.Cgroup and on Windows. Note that programs reserve more
	// address space than they use. Go, Java and JavaScript programs reserve gigabytes.
	Memory int64
	// Processes is the maximum number of processes in the tree, including their threads on Linux. Without a cgroup or a
	// job object it is enforced by an rlimit, which counts all of the user's processes on the machine. Linux does not
	// enforce the rlimit for root, nor for users with CAP_SYS_RESOURCE or CAP_SYS_ADMIN, so such hosts need a cgroup.
	Processes int
	// OpenFiles is one more than the highest file descriptor of each process. It is not supported on Windows.
	OpenFiles int
	// FileSize is the maximum size in bytes of a file written by a process. A process that writes more receives
	// SIGXFSZ. It is not supported on Windows.
	FileSize int64
	// Nice is added to the priority number of each process, so values from 1 to 19 make it less urgent. On Windows, 1
	// to 9 is the priority class below normal, and higher values are idle.
	Nice int
}

// An EnforcedLimit describes a limit enforced by the system.
type EnforcedLimit struct {
	// Name is the field of Limits: "CPUTime", "Memory", "Processes", "OpenFiles", "FileSize" or "Nice".
	Name string
	// Value has the same unit as the field, except that CPUTime is in seconds. It may be lower than the requested value
	// if the host itself has a lower limit.
	Value int64
	// By is the mechanism: "rlimit", "cgroup", "job object" or "priority".
	By string
	// Tree indicates that the limit applies to the process tree as a whole. Otherwise it applies to each process,
	// except that the rlimit for Processes applies to all processes of the user.
	Tree bool
}

// asked returns the nonzero limits, in the order of the fields. The error names the option, which begins with prefix.
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

// A Sandbox rewrites an allowed command just before it starts, so that it runs confined. It must be safe for concurrent
// use. If it fails, nothing is run and the create fails.
type Sandbox interface {
	Wrap(ctx context.Context, p Proposal) (Wrapped, error)
}

// Wrapped is the command returned by a Sandbox, which is started instead of the allowed command.
type Wrapped struct {
	// Command holds the Path, Args, Dir and Env to start. Since the confining program itself runs unconfined, Env must
	// not contain variables of the command that affect programs, such as LD_PRELOAD, and Args must not contain secrets.
	Command Command
	// Files are inherited as descriptors 3, 4 and so on, and closed by the Manager after the start. They are not
	// supported on Windows.
	Files []*os.File
	// PIDNamespace indicates that the allowed command runs in its own Linux PID namespace, whose first process ends
	// with the started process, so that the kernel ends all of its processes. Processes outside the namespace are then
	// not part of the tree if they only hold the command's output, since the command can pass it to any process.
	PIDNamespace bool
}
