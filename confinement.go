package acpterm

// The confinement of commands: the roots of their session; Limits, which the system enforces from before the command's
// first instruction; and a Sandbox, which rewrites the command just before it starts. Package bubblewrap has a Sandbox
// for Linux.

import (
	"context"
	"os"
	"time"

	"github.com/acpterm/acpterm/internal/proc"
)

// Limits restricts the resources that a command may use. A zero field means no limit. A command is never run unless all
// of its limits can be enforced. If the system cannot enforce a limit, which is always the case on macOS and FreeBSD,
// Create returns ErrInternal, and Error.Field is the name of the limit.
//
// On Linux, any limit that a cgroup does not enforce is set using ptrace before the command executes its first
// instruction. As a result, set-user-id programs and programs with capabilities run unprivileged, unless the host may
// trace them, as root may. Create fails if ptrace is forbidden or the host's children are already traced (strace -f).
type Limits struct {
	// CPUTime limits the CPU time of each process, or of the entire tree if EnforcedLimit.Tree is set. The limit is
	// rounded up to whole seconds. A process that exceeds it is sent SIGXCPU, followed by SIGKILL one second later. On
	// Windows, only user-mode time is counted, and exceeding the limit terminates the entire tree.
	CPUTime time.Duration
	// Memory limits the address space of each process, in bytes. If EnforcedLimit.Tree is set, as it is on Windows and
	// with Options.Cgroup, it limits the memory of the entire tree instead. Note that programs reserve much more
	// address space than they use. Go, Java and JavaScript programs, for example, typically reserve gigabytes.
	Memory int64
	// Processes limits the number of processes in the tree. On Linux, this includes threads. If neither a cgroup nor a
	// job object is used, an rlimit is set instead, which counts all processes of the user on the machine. Since Linux
	// does not apply it to root or to processes with CAP_SYS_RESOURCE or CAP_SYS_ADMIN, such hosts must use a cgroup.
	Processes int
	// OpenFiles is one greater than the highest file descriptor a process may open. It is not supported on Windows.
	OpenFiles int
	// FileSize limits the size of the files that a process writes, in bytes. A process attempting to write beyond the
	// limit receives SIGXFSZ. FileSize is not supported on Windows.
	FileSize int64
	// Nice is added to the nice value of each process and ranges from 1 to 19, where higher values mean lower priority.
	// On Windows, values up to 9 select the below-normal priority class, and values above 9 select the idle class.
	Nice int
}

// An EnforcedLimit describes a limit enforced by the system.
type EnforcedLimit struct {
	// Name is the name of a field of Limits: "CPUTime", "Memory", "Processes", "OpenFiles", "FileSize" or "Nice".
	Name string
	// Value is the value of the limit, in the same unit as the field called Name, except that CPUTime is in seconds. It
	// may be lower than requested if the host itself has a lower limit.
	Value int64
	// By is the mechanism that enforces the limit: "rlimit", "cgroup", "job object" or "priority".
	By string
	// Tree reports whether the limit applies to the process tree as a whole rather than to each process. As a special
	// case, if Processes is set as an rlimit, it applies to all processes of the user even though Tree is false.
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

// A Sandbox confines commands. Wrap is called just before an allowed command is started, and returns the command that
// will be run instead. If Wrap returns an error, nothing is run and Create fails. Wrap may be called concurrently.
type Sandbox interface {
	Wrap(ctx context.Context, p Proposal) (Wrapped, error)
}

// Wrapped is a command returned by a Sandbox. It is started instead of the original command.
type Wrapped struct {
	// Command is the command to start. Only its Path, Args, Dir and Env fields are used. Since the confining program is
	// not itself confined, Env must not contain any variables of the original command that can affect how programs
	// behave, such as LD_PRELOAD. Args must not contain any secrets.
	Command Command
	// Files lists open files to be inherited by the new process. Entry i becomes file descriptor 3+i. The Manager
	// closes the files once the process has been started. Files is not supported on Windows.
	Files []*os.File
	// PIDNamespace indicates that the command runs in its own Linux PID namespace. The first process in the namespace
	// must exit when the started process does, so that the kernel kills everything inside. Since the command can pass
	// its output to any process, a process outside is not part of the tree merely because it has the output open.
	PIDNamespace bool
}

// confinement is the policy of a session's roots, which have no symbolic links.
func confinement(roots []string) Policy {
	return PolicyFunc(func(_ context.Context, p Proposal) Decision {
		if p.DirWithin(roots...) {
			return Decision{Verdict: VerdictAllow, Rule: "roots"}
		}
		reason := "cwd is outside of the directories that commands may run in"
		return Decision{Verdict: VerdictDeny, Rule: "roots", Reason: reason}
	})
}
