package proc

// Limits that no cgroup enforces, on Linux: set while the child is stopped at its first instruction.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/acpterm/acpterm/internal/cgroup"
	"github.com/acpterm/acpterm/internal/procfs"
)

// rlimits are the system's names for the limits that it holds a process to.
var rlimits = map[string]int{
	"CPUTime":   unix.RLIMIT_CPU,
	"Memory":    unix.RLIMIT_AS,
	"Processes": unix.RLIMIT_NPROC,
	"OpenFiles": unix.RLIMIT_NOFILE,
	"FileSize":  unix.RLIMIT_FSIZE,
}

// limitTogether bounds what all processes of a tree use together, where the tree has a cgroup that can. The rest are
// limits that it cannot enforce.
func limitTogether(c *cgroup.Cgroup, asked []Limit) (enforced, rest []Limit, err error) {
	for _, limit := range asked {
		limit.Value, err = c.Limit(limit.Name, limit.Value)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			rest = append(rest, limit)
			continue
		case err != nil:
			return nil, nil, &LimitError{limit.Name, "cannot be enforced", err}
		}
		limit.By, limit.Tree = "cgroup", true
		enforced = append(enforced, limit)
	}
	return enforced, rest, nil
}

// limiter enforces limits that are properties of a process and that its children inherit. A child cannot be given them
// when it is forked. So it asks to be traced (PTRACE_TRACEME in man 2 ptrace): a traced process stops when execve
// succeeds, before the program's first instruction, and there it gets its limits and is let go. The tracer is the
// thread that forked, so a limiter is for one thread.
//
// Until execve the thread waits for the child, which shares its memory, and a traced child stops at any signal and
// waits for the thread: a SIGTERM to all processes at that moment would have both wait for each other. So the child is
// forked with signals blocked, and gets its mask with its limits.
type limiter struct {
	limits  []Limit
	signals unix.Sigset_t // what the thread, and so the command, has blocked
}

// startLimited starts a command. If it is to have limits, it stops before its first instruction, for impose.
func startLimited(
	path string, args []string, attr *syscall.ProcAttr, limits []Limit,
) (pid int, l limiter, err error) {
	if len(limits) == 0 {
		pid, err = fork(path, args, attr)
		return pid, l, err
	}
	for _, limit := range limits {
		if limit.Name == "Processes" && exemptFromProcesses() {
			return 0, l, &LimitError{"Processes", "takes a cgroup with the pids controller, for a host that is root " +
				"or has CAP_SYS_RESOURCE or CAP_SYS_ADMIN: RLIMIT_NPROC does not hold for it", nil}
		}
	}
	l.limits = limits
	var blocked unix.Sigset_t
	for i := range blocked.Val {
		blocked.Val[i] = ^blocked.Val[i]
	}
	blocked.Val[0] &^= 1 << (unix.SIGTRAP - 1)
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &blocked, &l.signals); err != nil {
		return 0, l, err
	}
	defer unix.PthreadSigmask(unix.SIG_SETMASK, &l.signals, nil)
	attr.Sys.Ptrace = true
	pid, err = fork(path, args, attr)
	if errors.Is(err, unix.EPERM) && !mayTrace() {
		err = &LimitError{limits[0].Name, "takes ptrace, which this host may not use", unix.EPERM}
	}
	return pid, l, err
}

// fork is syscall.ForkExec with the error that os/exec would return.
func fork(path string, args []string, attr *syscall.ProcAttr) (pid int, err error) {
	err = withDefaultSignals(func() error {
		pid, err = syscall.ForkExec(path, args, attr)
		return err
	})
	if err != nil {
		err = &os.PathError{Op: "fork/exec", Path: path, Err: err}
	}
	return pid, err
}

// mayTrace reports whether a child may be traced: a program that does not exist is not found then, and else EPERM comes
// first.
func mayTrace() bool {
	attr := &syscall.ProcAttr{Sys: &syscall.SysProcAttr{Ptrace: true}}
	_, err := fork("/proc/self/missing", []string{"missing"}, attr)
	return !errors.Is(err, unix.EPERM)
}

// exemptFromProcesses reports whether the kernel lets this process, and so what it starts, fork beyond RLIMIT_NPROC
// (copy_process in kernel/fork.c).
func exemptFromProcesses() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	err := unix.Capget(&header, &data[0])
	return err != nil || os.Getuid() == 0 || data[0].Effective&(1<<unix.CAP_SYS_RESOURCE|1<<unix.CAP_SYS_ADMIN) != 0
}

// execStop is how long a child may take to stop at its first instruction. It is about to when it was started.
const execStop = 10 * time.Second

// impose gives a process that startLimited has started its limits, and lets it go. A process that was killed before its
// first instruction needs none. It does not wait for the stop by wait4, whose report any wait in this program could
// take; the process stays stopped all the same.
func (l *limiter) impose(ctx context.Context, t *Tree) ([]Limit, error) {
	if len(l.limits) == 0 {
		return nil, nil
	}
	deadline := time.Now().Add(execStop)
	for pause := 10 * time.Microsecond; ; pause = min(2*pause, maxPause) {
		err := setSignalMask(t.pid, &l.signals) // which takes a stopped process
		switch {
		case err == nil:
			return l.imposeStopped(t.pid)
		case !errors.Is(err, unix.ESRCH):
			return nil, os.NewSyscallError("ptrace", err)
		case t.ended():
			return nil, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case time.Now().After(deadline):
			return nil, &LimitError{l.limits[0].Name, "cannot be enforced: the command did not stop for it", nil}
		}
		time.Sleep(pause)
	}
}

// ended reports whether the leader runs no more, however that is known.
func (t *Tree) ended() bool {
	p, err := procfs.Read(t.pid)
	return err != nil || p.Exited || !t.Unreaped()
}

func (l *limiter) imposeStopped(pid int) (enforced []Limit, err error) {
	for _, limit := range l.limits {
		if limit.Name == "Nice" {
			limit, err = renice(pid, limit)
		} else {
			limit, err = setRlimit(pid, limit)
		}
		if err != nil {
			return nil, &LimitError{limit.Name, "cannot be enforced", err}
		}
		enforced = append(enforced, limit)
	}
	err = unix.PtraceDetach(pid)
	if errors.Is(err, unix.ESRCH) { // it was stopped, and only SIGKILL changes that
		err = nil
	}
	return enforced, err
}

// setRlimit sets both limits, the soft and the hard one, within those that the process has inherited.
func setRlimit(pid int, limit Limit) (Limit, error) {
	var own unix.Rlimit
	if err := unix.Prlimit(pid, rlimits[limit.Name], nil, &own); err != nil {
		return limit, err
	}
	limit.Value, limit.By = min(limit.Value, own.Max), "rlimit"
	rlimit := unix.Rlimit{Cur: limit.Value, Max: limit.Value}
	if limit.Name == "CPUTime" {
		rlimit.Max = min(limit.Value+1, own.Max) // SIGXCPU at the one, SIGKILL at the other
	}
	return limit, unix.Prlimit(pid, rlimits[limit.Name], &rlimit, nil)
}

// renice adds to the niceness that the process has inherited.
func renice(pid int, limit Limit) (Limit, error) {
	const least = 19
	inverse, err := unix.Getpriority(unix.PRIO_PROCESS, pid)
	if err != nil {
		return limit, err
	}
	inherited := 20 - inverse
	nice := min(inherited+int(limit.Value), least)
	limit.Value, limit.By = uint64(nice-inherited), "priority"
	if err := unix.Setpriority(unix.PRIO_PROCESS, pid, nice); err != nil {
		return limit, err
	}
	// Where the scheduler groups processes by session, niceness counts within the group, and the group has its own
	// (man 7 sched, autogroup). It can be set ten times a second, so this may do nothing.
	os.WriteFile(fmt.Sprintf("/proc/%d/autogroup", pid), []byte(strconv.Itoa(nice)), 0)
	return limit, nil
}

// setSignalMask sets what signals a stopped process has blocked. The kernel's set has a bit for each signal, of which
// there are 128 on MIPS and 64 elsewhere.
func setSignalMask(pid int, signals *unix.Sigset_t) error {
	size := uintptr(64 / 8)
	if strings.HasPrefix(runtime.GOARCH, "mips") {
		size = 128 / 8
	}
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SETSIGMASK,
		uintptr(pid), size, uintptr(unsafe.Pointer(signals)), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
