//go:build unix && !linux

package acpterm

// Limits on macOS and the BSDs: there, a process can set rlimits for itself alone. So the command is started as a
// shell, which sets them for itself with ulimit and then becomes the command.

import (
	"fmt"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// shellLimit is how a limit is set.
type shellLimit struct {
	letter   string // ulimit's option
	resource int    // what ulimit sets
	unit     uint64 // what ulimit counts in
}

// Letters that one system's shell has and another's has not, or has for something else, are in the table of the system.
var (
	everyShell = map[string]shellLimit{
		"CPUTime":   {"-t", unix.RLIMIT_CPU, 1},
		"OpenFiles": {"-n", unix.RLIMIT_NOFILE, 1},
	}
	// macOS has no limit on address space, and its shell is no help for what a unit of file size is: 512 bytes by POSIX, but
	// 1024 to the old bash that it is.
	shells = map[string]map[string]shellLimit{
		"darwin":    {"Processes": {"-u", unix.RLIMIT_NPROC, 1}},
		"freebsd":   {"Processes": {"-u", unix.RLIMIT_NPROC, 1}, "FileSize": fileSize, "Memory": memory},
		"dragonfly": {"Processes": {"-u", unix.RLIMIT_NPROC, 1}, "FileSize": fileSize, "Memory": memory},
		"netbsd":    {"Processes": {"-p", unix.RLIMIT_NPROC, 1}, "FileSize": fileSize, "Memory": memory},
		"openbsd":   {"Processes": {"-p", unix.RLIMIT_NPROC, 1}, "FileSize": fileSize},
	}
	fileSize = shellLimit{"-f", unix.RLIMIT_FSIZE, 512}
	memory   = shellLimit{"-v", rlimitAS, 1024}
)

// leastPriority is PRIO_MAX.
const leastPriority = 20

// limiter starts a process under limits.
type limiter struct {
	script   string
	enforced []EnforcedLimit
}

func newLimiter(limits []EnforcedLimit) (l limiter, err error) {
	var script strings.Builder
	become := `exec "$0" "$@"`
	for _, limit := range limits {
		if limit.Name == "Nice" {
			own, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
			if err != nil {
				return limiter{}, limitError(limit.Name, "cannot be enforced", err)
			}
			limit.Value, limit.By = min(limit.Value, uint64(leastPriority-own)), "priority"
			become = fmt.Sprintf(`exec /usr/bin/nice -n %d "$0" "$@"`, limit.Value)
			l.enforced = append(l.enforced, limit)
			continue
		}
		shell, ok := everyShell[limit.Name]
		if !ok {
			shell, ok = shells[runtime.GOOS][limit.Name]
		}
		if !ok {
			return limiter{}, limitError(limit.Name, "cannot be enforced on "+runtime.GOOS, nil)
		}
		var own unix.Rlimit
		if err := unix.Getrlimit(shell.resource, &own); err != nil {
			return limiter{}, limitError(limit.Name, "cannot be enforced", err)
		}
		most := uint64(own.Max) / shell.unit
		value := min(limit.Value/shell.unit, most)
		if limit.Value%shell.unit > 0 {
			value = min(value+1, most)
		}
		hard := value
		if limit.Name == "CPUTime" {
			hard = min(value+1, most) // SIGXCPU at the one, SIGKILL at the other
		}
		fmt.Fprintf(&script, "ulimit -S %s %d && ulimit -H %[1]s %[3]d || exit\n", shell.letter, value, hard)
		limit.Value, limit.By = value*shell.unit, "rlimit"
		l.enforced = append(l.enforced, limit)
	}
	l.script = script.String() + become
	return l, nil
}

// start starts the command, under the limits.
func (l *limiter) start(c Command, attr *syscall.ProcAttr, i *inherited, calls forkCalls) error {
	if len(l.enforced) == 0 {
		return i.fork(c, attr, calls)
	}
	args := append([]string{"sh", "-c", l.script, c.Path}, c.Args[1:]...)
	if runtime.GOOS == "darwin" {
		args = append([]string{"sh", "-p"}, args[1:]...) // else bash has functions from the environment: one named ulimit
	}
	return i.forkExec("/bin/sh", args, attr, calls)
}

// impose has nothing left to do.
func (l *limiter) impose(int) ([]EnforcedLimit, error) { return l.enforced, nil }
