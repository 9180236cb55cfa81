package proc

// This file enforces limits that no cgroup enforces, on Linux, while the child is stopped at its first instruction.

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

// rlimits maps limit names to the kernel's resource limits.
var rlimits = map[string]int{
	"CPUTime":   unix.RLIMIT_CPU,
	"Memory":    unix.RLIMIT_AS,
	"Processes": unix.RLIMIT_NPROC,
	"OpenFiles": unix.RLIMIT_NOFILE,
	"FileSize":  unix.RLIMIT_FSIZE,
}

// limitTogether sets the limits that the tree's cgroup, if any, can enforce for the whole tree. rest has the others.
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

// limiter enforces per-process limits, which children inherit. A child cannot be given them when it is forked, so it
// asks to be traced (PTRACE_TRACEME in man 2 ptrace). A traced process stops when execve succeeds, before the program's
// first instruction; the limiter then sets its limits and lets it run. The tracer is the thread that forked, so a
// limiter must stay on one thread.
//
// Until execve, the thread waits for the child, which shares its memory, and a traced child stops at any signal and
// waits for the thread. A SIGTERM to all processes at that moment would make both wait for each other. So the child is
// forked with signals blocked, and gets its signal mask together with its limits.
type limiter struct {
	limits  []Limit
	signals unix.Sigset_t // blocked by the thread, and so by the command
}

// startLimited starts a command. If limits is not empty, it stops before its first instruction, and waits for impose.
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

// fork calls syscall.ForkExec, and returns the error that os/exec would.
func fork(path string, args []string, attr *syscall.ProcAttr) (pid int, err error) {
	err = withDefaultSignals(func() error {
		return closedWhileStarting.closeInChild(func() error {
			pid, err = syscall.ForkExec(path, args, attr)
			return err
		})
	})
	if err != nil {
		err = &os.PathError{Op: "fork/exec", Path: path, Err: err}
	}
	return pid, err
}

// mayTrace reports whether this process may trace a child. If not, EPERM comes before the error of the missing program.
func mayTrace() bool {
	attr := &syscall.ProcAttr{Sys: &syscall.SysProcAttr{Ptrace: true}}
	_, err := fork("/proc/self/missing", []string{"missing"}, attr)
	return !errors.Is(err, unix.EPERM)
}

// exemptFromProcesses reports whether the kernel lets this process, and so its children, fork beyond RLIMIT_NPROC
// (copy_process in kernel/fork.c).
func exemptFromProcesses() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	err := unix.Capget(&header, &data[0])
	return err != nil || os.Getuid() == 0 || data[0].Effective&(1<<unix.CAP_SYS_RESOURCE|1<<unix.CAP_SYS_ADMIN) != 0
}

// execStop is the time that a child has to stop at its first instruction. A started child is about to stop there.
const execStop = 10 * time.Second

// impose sets the limits of a process started by startLimited, and lets it run. A process killed before its first
// instruction needs no limits. impose does not use wait4 to wait for the stop, because any other wait in this program
// could take the report; the process stays stopped anyway.
func (l *limiter) impose(ctx context.Context, t *Tree) ([]Limit, error) {
	if len(l.limits) == 0 {
		return nil, nil
	}
	deadline := time.Now().Add(execStop)
	for pause := 10 * time.Microsecond; ; pause = min(2*pause, maxPause) {
		err := setSignalMask(t.pid, &l.signals) // needs a stopped process
		switch {
		case err == nil:
			return l.imposeStopped(t)
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

// ended reports whether the leader has stopped running, by any evidence.
func (t *Tree) ended() bool {
	_, exited, _ := waitUnreaped(unix.P_PIDFD, t.pidfd, unix.WNOHANG)
	p, err := t.sup.table.Read(t.pid)
	return exited || procfs.IsGone(err) || p.Exited || !t.Unreaped()
}

func (l *limiter) imposeStopped(t *Tree) (enforced []Limit, err error) {
	for _, limit := range l.limits {
		if limit.Name == "Nice" {
			limit, err = t.renice(limit)
		} else {
			limit, err = setRlimit(t.pid, limit)
		}
		if err != nil {
			return nil, &LimitError{limit.Name, "cannot be enforced", err}
		}
		enforced = append(enforced, limit)
	}
	err = unix.PtraceDetach(t.pid)
	if errors.Is(err, unix.ESRCH) { // it was stopped, so only SIGKILL can have ended it
		err = nil
	}
	return enforced, err
}

// setRlimit sets the soft and the hard limit, within the limits that the process has inherited.
func setRlimit(pid int, limit Limit) (Limit, error) {
	var own unix.Rlimit
	if err := unix.Prlimit(pid, rlimits[limit.Name], nil, &own); err != nil {
		return limit, err
	}
	limit.Value, limit.By = min(limit.Value, own.Max), "rlimit"
	rlimit := unix.Rlimit{Cur: limit.Value, Max: limit.Value}
	if limit.Name == "CPUTime" {
		rlimit.Max = min(limit.Value+1, own.Max) // SIGXCPU at the soft limit, SIGKILL at the hard one
	}
	return limit, unix.Prlimit(pid, rlimits[limit.Name], &rlimit, nil)
}

// renice adds to the inherited niceness of the leader.
func (t *Tree) renice(limit Limit) (Limit, error) {
	const least = 19
	inverse, err := unix.Getpriority(unix.PRIO_PROCESS, t.pid)
	if err != nil {
		return limit, err
	}
	inherited := 20 - inverse
	nice := min(inherited+int(limit.Value), least)
	limit.Value, limit.By = uint64(nice-inherited), "priority"
	if err := unix.Setpriority(unix.PRIO_PROCESS, t.pid, nice); err != nil {
		return limit, err
	}
	// Where the scheduler groups processes by session, niceness counts only within the group, and the group has its own
	// niceness (man 7 sched, autogroup). It can be set ten times a second, so this write may have no effect.
	if t.sup.table.Usable() == nil {
		os.WriteFile(fmt.Sprintf("/proc/%d/autogroup", t.pid), []byte(strconv.Itoa(nice)), 0)
	}
	return limit, nil
}

// setSignalMask sets the signal mask of a stopped process: a bit for each signal, 128 on MIPS and 64 elsewhere.
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
