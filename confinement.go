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
	// CPUTime is the maximum CPU time of each process, or of the whole tree if EnforcedLimit.Tree is set. It is rounded
	// up to whole seconds. A process that exceeds it is sent SIGXCPU, followed by SIGKILL one second later. On Windows,
	// only user-mode time counts, and the whole tree is terminated.
	CPUTime time.Duration
	// Memory is the maximum address space of each process in bytes, or the maximum memory of the whole tree if
	// EnforcedLimit.Tree is set, as it is with Options.Cgroup and on Windows. Note that programs reserve far more
	// address space than they use. Go, Java and JavaScript programs typically reserve gigabytes.
	Memory int64
	// Processes is the maximum number of processes in the tree. On Linux, threads count as well. Unless a cgroup or a
	// job object is used, it is set as an rlimit, which counts all processes of the user on the machine. Linux exempts
	// root and processes with CAP_SYS_RESOURCE or CAP_SYS_ADMIN from that rlimit, so such hosts need a cgroup.
	Processes int
	// OpenFiles is one more than the highest file descriptor a process can open. It is not supported on Windows.
	OpenFiles int
	// FileSize is the maximum size in bytes of a file written by a process. A process that exceeds it is sent SIGXFSZ.
	// It is not supported on Windows.
	FileSize int64
	// Nice is added to the nice value of each process. It can be from 1 to 19, and higher values mean a lower priority.
	// On Windows, values up to 9 select the priority class below normal, and higher values select idle.
	Nice int
}

// An EnforcedLimit describes a limit enforced by the system.
type EnforcedLimit struct {
	// Name is the field of Limits: "CPUTime", "Memory", "Processes", "OpenFiles", "FileSize" or "Nice".
	Name string
	// Value is in the unit of the field, or in seconds for CPUTime. The host's own limit may have reduced it.
	Value int64
	// By names the enforcing mechanism: "rlimit", "cgroup", "job object" or "priority".
	By string
	// Tree indicates that the limit applies to the process tree as a whole. Otherwise, it applies to each process
	// separately, except for Processes, whose rlimit covers all processes of the user.
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

// A Sandbox confines commands. Wrap is called just before an allowed command starts and returns the command to run
// instead. If it returns an error, nothing is run and Create fails. It may be called concurrently.
type Sandbox interface {
	Wrap(ctx context.Context, p Proposal) (Wrapped, error)
}

// Wrapped is returned by a Sandbox. It describes the command to start instead of the allowed one.
type Wrapped struct {
	// Command is the command to start. Only its Path, Args, Dir and Env are used. The confining program itself runs
	// unconfined, so Env must not contain variables of the command that affect programs, such as LD_PRELOAD. Args must
	// not contain secrets.
	Command Command
	// Files lists open files to be inherited by the new process. Entry i becomes file descriptor 3+i. The Manager
	// closes them once it has started. Files is not supported on Windows.
	Files []*os.File
	// PIDNamespace indicates that the command runs in its own Linux PID namespace, whose first process exits with the
	// started process, so the kernel kills everything in it. Processes outside the namespace are then not part of the
	// tree just because they hold the command's output, since the command can pass it to any process.
	PIDNamespace bool
}
