package acpterm

// Limits on Linux: a cgroup bounds the tree, where the terminal has one with the controllers for it (cgroup_linux.go).
// All else are properties of a process that its children inherit. Nothing sets them in a child that Go forks, so the
// child is stopped right after it has become its program: it asks to be traced (man 2 ptrace, PTRACE_TRACEME), a
// traced process stops when execve succeeds, before the program's first instruction, and there it gets its limits and
// is let go. Who traces is the thread that forked, so all of this is for the manager's thread.
//
// Until execve the thread waits for the child, whose memory is its own (CLONE_VFORK), and a traced child stops at any
// signal and waits for the thread: a SIGTERM to all processes at that moment would have both wait for ever. So the
// child is forked with signals blocked, and gets its mask with its limits. SIGSTOP cannot be blocked, and
// SIGTRAP is what stops it; who sends those within that microsecond could as well have sent them to this process.

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// rlimits are the system's names for the limits that it holds a process to.
var rlimits = map[string]int{
	"CPUTime":   unix.RLIMIT_CPU,
	"Memory":    unix.RLIMIT_AS,
	"Processes": unix.RLIMIT_NPROC,
	"OpenFiles": unix.RLIMIT_NOFILE,
	"FileSize":  unix.RLIMIT_FSIZE,
}

// limiter starts a process under limits. Its methods are called in their order here, on one thread.
type limiter struct {
	limits  []EnforcedLimit // the rlimits, and the niceness
	signals unix.Sigset_t   // what the thread, and so the command, has blocked
}

func newLimiter(limits []EnforcedLimit) (limiter, error) {
	for _, limit := range limits {
		if limit.Name == "Processes" && exemptFromProcesses() {
			return limiter{}, limitError("Processes", "takes a cgroup with the pids controller, for a host that is root or has "+
				"CAP_SYS_RESOURCE or CAP_SYS_ADMIN: RLIMIT_NPROC does not hold for it", nil)
		}
	}
	return limiter{limits: limits}, nil
}

// exemptFromProcesses reports whether the kernel lets this process, and so what it starts, fork beyond RLIMIT_NPROC
// (copy_process in kernel/fork.c).
func exemptFromProcesses() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	err := unix.Capget(&header, &data[0])
	return err != nil || os.Getuid() == 0 || data[0].Effective&(1<<unix.CAP_SYS_RESOURCE|1<<unix.CAP_SYS_ADMIN) != 0
}

// start starts the command. If it is to have limits, it stops before its first instruction.
func (l *limiter) start(c Command, attr *syscall.ProcAttr, i *inherited, calls forkCalls) error {
	if len(l.limits) == 0 {
		return i.fork(c, attr, calls)
	}
	fork := func(path string) error { return l.forkStopped(path, c.Args, attr, i, calls) }
	err := fork(c.Path)
	if errors.Is(err, unix.EPERM) {
		// Of the program, or of ptrace? A program that does not exist tells.
		if err := fork(""); errors.Is(err, unix.EPERM) {
			return limitError(l.limits[0].Name, "takes ptrace, which this host may not use", err)
		}
	}
	return err
}

// forkStopped starts a program that stops before its first instruction.
func (l *limiter) forkStopped(path string, args []string, attr *syscall.ProcAttr, i *inherited, calls forkCalls) error {
	var blocked unix.Sigset_t
	for i := range blocked.Val {
		blocked.Val[i] = ^blocked.Val[i]
	}
	blocked.Val[0] &^= 1 << (unix.SIGTRAP - 1)
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &blocked, &l.signals); err != nil {
		return err
	}
	defer unix.PthreadSigmask(unix.SIG_SETMASK, &l.signals, nil)
	attr.Sys.Ptrace = true
	return i.forkExec(path, args, attr, calls)
}

// inheritedLimit is a limit that a child has which package syscall starts. The child is this very program, and is ended
// before its first instruction.
func inheritedLimit(resource int) (limit unix.Rlimit, err error) {
	var l limiter
	attr := &syscall.ProcAttr{Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: unix.SIGKILL}}
	var pid int
	err = l.forkStopped("/proc/self/exe", []string{"/proc/self/exe"}, attr, new(inherited), forkCalls{begun: func(child int) { pid = child }})
	if err != nil {
		return limit, err
	}
	defer reap(pid)
	defer unix.Kill(pid, unix.SIGKILL)
	stopped, err := awaitExecStop(pid)
	if err == nil && !stopped {
		err = unix.ESRCH
	}
	if err == nil {
		err = unix.Prlimit(pid, resource, nil, &limit)
	}
	return limit, err
}

// impose gives a process that start has started its limits, and lets it go. One that was killed before it came to
// its first instruction needs none, and is left as the zombie that it is.
func (l *limiter) impose(pid int) ([]EnforcedLimit, error) {
	if len(l.limits) == 0 {
		return nil, nil
	}
	if stopped, err := awaitExecStop(pid); !stopped {
		return nil, err
	}
	return l.imposeStopped(pid)
}

func (l *limiter) imposeStopped(pid int) (enforced []EnforcedLimit, err error) {
	for _, limit := range l.limits {
		if limit.Name == "Nice" {
			limit, err = renice(pid, limit)
		} else {
			limit, err = setRlimit(pid, limit)
		}
		if err != nil {
			return nil, limitError(limit.Name, "cannot be enforced", err)
		}
		enforced = append(enforced, limit)
	}
	err = setSignalMask(pid, &l.signals)
	if err == nil {
		err = unix.PtraceDetach(pid)
	}
	if errors.Is(err, unix.ESRCH) { // it was stopped, and only SIGKILL changes that
		err = nil
	}
	return enforced, err
}

// awaitExecStop returns when the process has stopped at its first instruction, or has exited and is a zombie. Nothing
// of that is taken from who waits for its exit.
func awaitExecStop(pid int) (stopped bool, err error) {
	var info unix.Siginfo
	for {
		err = unix.Waitid(unix.P_PID, pid, &info, allExitsOnly|unix.WSTOPPED, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	child := (*childInfo)(unsafe.Pointer(&info))
	switch {
	case err != nil || child.code < cldTrapped:
		return false, err
	case syscall.Signal(child.status) != unix.SIGTRAP:
		return false, fmt.Errorf("it was stopped by signal %d before it had its limits", child.status)
	}
	return true, nil
}

// cldTrapped is CLD_TRAPPED: a traced child has stopped. What is lower are exits.
const cldTrapped = 4

// setRlimit sets both limits, the soft and the hard one, within those that the process has inherited.
func setRlimit(pid int, limit EnforcedLimit) (EnforcedLimit, error) {
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
func renice(pid int, limit EnforcedLimit) (EnforcedLimit, error) {
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
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SETSIGMASK, uintptr(pid), size, uintptr(unsafe.Pointer(signals)), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
