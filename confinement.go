package acpterm

// What confines a command: Limits, which the system enforces from before the command's first instruction on, and a
// Sandbox, which rewrites the command just before its start. Package bubblewrap has a Sandbox for Linux.

import (
	"context"
	"os"
	"time"

	"github.com/acpterm/acpterm/internal/proc"
)

// Limits bounds the resources of a command. A zero field sets no bound. If the system cannot enforce a limit, the
// create fails with ErrInternal and the name of the field: no command runs without one of its limits.
//
// On Linux, limits without a cgroup use ptrace before the command's first instruction. Set-user-id programs and
// programs with capabilities then run without these privileges, unless the host may trace them, as root may. A create
// fails if ptrace is forbidden or a tracer follows the host's children (strace -f).
//
// On macOS and FreeBSD no limit can be enforced.
type Limits struct {
	// CPUTime is the maximum CPU time of each process, or of the whole tree if EnforcedLimit.Tree is set. It is rounded
	// up to seconds. A process beyond the limit gets SIGXCPU, and SIGKILL a second later. On Windows,
	// only time outside the kernel counts, and the whole tree is terminated.
	CPUTime time.Duration
	// Memory is the maximum address space of each process in bytes, or the maximum memory of the whole tree if
	// EnforcedLimit.Tree is set, with Options.Cgroup and on Windows. Programs reserve more address space than they use:
	// Go, Java and JavaScript programs reserve gigabytes.
	Memory int64
	// Processes is the maximum number of processes of the tree, with their threads on Linux. Without a cgroup or a job
	// object an rlimit enforces it, which counts all processes of the user on the machine. Linux does not enforce the
	// rlimit for root, nor for users with CAP_SYS_RESOURCE or CAP_SYS_ADMIN; such hosts need a cgroup.
	Processes int
	// OpenFiles is one more than the highest descriptor of each process. It is not supported on Windows.
	OpenFiles int
	// FileSize is the maximum size in bytes of a file that a process writes. A process that writes more gets SIGXFSZ.
	// It is not supported on Windows.
	FileSize int64
	// Nice is added to the priority number of each process: 1 to 19 is less urgent. On Windows 1 to 9 is the priority
	// class below normal, and more is idle.
	Nice int
}

// EnforcedLimit is an enforced limit.
type EnforcedLimit struct {
	// Name is the field of Limits: "CPUTime", "Memory", "Processes", "OpenFiles", "FileSize", "Nice".
	Name string
	// Value is in the field's unit, seconds for CPUTime. It may be lower than the requested value, if the host itself
	// has a lower limit.
	Value int64
	// By is "rlimit", "cgroup", "job object" or "priority".
	By string
	// Tree indicates that the limit applies to the whole process tree together. Otherwise it applies to each process,
	// and the rlimit for Processes to all processes of the user.
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

// Sandbox rewrites an allowed command just before its start, so that it runs confined. It must be safe for concurrent
// use. If it fails, nothing runs and the create fails.
type Sandbox interface {
	Wrap(ctx context.Context, p Proposal) (Wrapped, error)
}

// Wrapped is the command of a Sandbox, which starts instead of the allowed command.
type Wrapped struct {
	// Command has the Path, Args, Dir and Env to start. The confining program itself runs unconfined: Env must not
	// contain variables of the command that affect programs, such as LD_PRELOAD, and Args must not contain secrets.
	Command Command
	// Files are inherited as descriptors 3, 4 and so on. The Manager closes them after the start. They are not
	// supported on Windows.
	Files []*os.File
	// PIDNamespace indicates that the allowed command runs in its own Linux PID namespace, whose first process ends
	// with the started process, so that the kernel ends all its processes. Processes outside the namespace are then not
	// part of the tree if they only hold the command's output, which the command can pass to any process.
	PIDNamespace bool
}
