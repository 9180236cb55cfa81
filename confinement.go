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
	// CPUTime limits the CPU time of each process, or of the entire tree if EnforcedLimit.Tree is set. It is rounded up
	// to whole seconds. A process that exceeds it receives SIGXCPU, and SIGKILL one second later. On Windows, only
	// user-mode time counts, and exceeding the limit terminates the entire tree.
	CPUTime time.Duration
	// Memory limits the address space of each process, in bytes. If EnforcedLimit.Tree is set, as it is on Windows and
	// with Options.Cgroup, it limits the memory of the entire tree instead. Note that programs reserve much more
	// address space than they use. Go, Java and JavaScript programs, for example, typically reserve gigabytes.
	Memory int64
	// Processes limits the number of processes in the tree. On Linux, threads count as well. Without a cgroup or a job
	// object, it is set as an rlimit, which counts every process the user is running on the machine. Linux does not
	// apply it to root or processes with CAP_SYS_RESOURCE or CAP_SYS_ADMIN, so such hosts should use a cgroup.
	Processes int
	// OpenFiles is one greater than the highest file descriptor a process may open. It is not supported on Windows.
	OpenFiles int
	// FileSize limits the size of the files that a process writes, in bytes. A process attempting to write beyond the
	// limit receives SIGXFSZ. FileSize is not supported on Windows.
	FileSize int64
	// Nice is added to the nice value of each process and ranges from 1 to 19. The higher it is, the lower the
	// priority. On Windows, values up to 9 select the below-normal priority class, and higher values the idle class.
	Nice int
}

// An EnforcedLimit describes a limit enforced by the system.
type EnforcedLimit struct {
	// Name is the name of a field of Limits: "CPUTime", "Memory", "Processes", "OpenFiles", "FileSize" or "Nice".
	Name string
	// Value is the limit in the unit of that field, or in seconds for CPUTime. The host's own limit may reduce it.
	Value int64
	// By names the enforcing mechanism: "rlimit", "cgroup", "job object" or "priority".
	By string
	// Tree reports whether the limit applies to the process tree as a whole rather than to each process separately. The
	// exception is Processes as an rlimit, which covers all processes of the user although Tree is false.
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

// A Sandbox confines commands. Just before an allowed command is started, Wrap is called and returns the command to run
// instead. If Wrap fails, nothing is run and Create fails. Wrap may be called concurrently.
type Sandbox interface {
	Wrap(ctx context.Context, p Proposal) (Wrapped, error)
}

// Wrapped is a command returned by a Sandbox, to be started instead of the original command.
type Wrapped struct {
	// Command is the command to start. Only its Path, Args, Dir and Env fields are used. The confining program is not
	// confined itself, so Env must not contain any of the original command's variables that can affect programs, such
	// as LD_PRELOAD. Args must not contain secrets.
	Command Command
	// Files lists open files for the new process to inherit. Entry i becomes file descriptor 3+i. The Manager closes
	// the files once the process has started. Files is not supported on Windows.
	Files []*os.File
	// PIDNamespace indicates that the command runs in its own Linux PID namespace. The namespace's first process must
	// exit along with the started process, so that the kernel kills everything in it. Since the command can pass its
	// output to any process, those outside are then not considered part of the tree just because they have it open.
	PIDNamespace bool
}
