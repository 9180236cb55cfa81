package acpterm

// The confinement of commands: Limits, which the system enforces from before the command's first instruction, and a
// Sandbox, which rewrites the command just before it starts. Package bubblewrap has a Sandbox for Linux.

import (
	"context"
	"os"
	"time"

	"github.com/acpterm/acpterm/internal/proc"
)

// Limits restricts the resources of a command. A zero field means no limit. A command never runs without one of its
// limits: if the system cannot enforce it, Create fails with ErrInternal, and Error.Field names the limit.
//
// On Linux, limits not enforced by a cgroup are set with ptrace before the command executes its first instruction.
// Set-user-id programs and those with capabilities then run unprivileged, unless the host may trace them, as root may.
// Create fails if ptrace is forbidden or the host's children are already traced (strace -f).
//
// Limits cannot be enforced on macOS and FreeBSD.
type Limits struct {
	// CPUTime is the maximum amount of CPU time for each process, or for the entire tree if EnforcedLimit.Tree is set.
	// It is rounded up to a whole number of seconds. If a process exceeds it, the process is sent SIGXCPU and, one
	// second later, SIGKILL. On Windows, the entire tree is terminated, and only user-mode time is counted.
	CPUTime time.Duration
	// Memory is the maximum size in bytes of the address space of each process. If EnforcedLimit.Tree is set, as it is
	// on Windows and with Options.Cgroup, it is the maximum memory of the entire tree. Note that programs reserve much
	// more address space than they use. For example, Go, Java and JavaScript programs typically reserve gigabytes.
	Memory int64
	// Processes is the maximum number of processes in the tree, including threads on Linux. If neither a cgroup nor a
	// job object is used, it is set as an rlimit, which counts every process the user is running on the machine. Linux
	// does not apply it to root or processes with CAP_SYS_RESOURCE or CAP_SYS_ADMIN, so such hosts should use a cgroup.
	Processes int
	// OpenFiles is one more than the maximum file descriptor a process may open. It is not supported on Windows.
	OpenFiles int
	// FileSize is the maximum size in bytes of files written by a process. Attempting to write more causes the process
	// to be sent SIGXFSZ. FileSize is not supported on Windows.
	FileSize int64
	// Nice specifies the value to be added to the nice value of each process, from 1 to 19. The higher it is, the lower
	// the priority. On Windows, the priority class is below normal for values up to 9, and idle for higher values.
	Nice int
}

// An EnforcedLimit describes a limit enforced by the system.
type EnforcedLimit struct {
	// Name is the name of a field of Limits: "CPUTime", "Memory", "Processes", "OpenFiles", "FileSize" or "Nice".
	Name string
	// Value is given in the unit of the field, or in seconds for CPUTime. It may be reduced by the host's own limit.
	Value int64
	// By names the enforcing mechanism: "rlimit", "cgroup", "job object" or "priority".
	By string
	// Tree reports whether the limit applies to the process tree as a whole, rather than to each of its processes. In
	// the latter case, Processes is an exception, because its rlimit covers all processes of the user.
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

// A Sandbox confines commands. Wrap is called immediately before an allowed command is started, and returns the command
// to run instead. If it returns an error, Create fails and nothing is run. It may be called concurrently.
type Sandbox interface {
	Wrap(ctx context.Context, p Proposal) (Wrapped, error)
}

// Wrapped represents a command wrapped by a Sandbox, to be started instead of the original command.
type Wrapped struct {
	// Command specifies the command to start. Only its Path, Args, Dir and Env fields are used. Since the confining
	// program is not confined itself, Env must not contain any of the command's variables that can affect a program,
	// such as LD_PRELOAD, and Args must not contain secrets.
	Command Command
	// Files specifies open files to be inherited by the new process, with entry i becoming file descriptor 3+i. The
	// Manager closes them after the process has started. Files is not supported on Windows.
	Files []*os.File
	// PIDNamespace indicates that the command runs in its own Linux PID namespace, whose first process exits along with
	// the started process, causing the kernel to kill everything in it. A process outside the namespace is then not
	// considered part of the tree merely for having the output open, since the command can pass it to any process.
	PIDNamespace bool
}
