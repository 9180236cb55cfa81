package proc

// This file sees the exits of leaders on Linux, through their pidfds.

import (
	"cmp"
	"errors"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// watch waits for the leader's exit, and reports it.
func (t *Tree) watch() {
	exit, err := t.awaitExit()
	if errors.Is(err, unix.ECHILD) {
		exit, err = t.exitOfReaped()
	}
	t.pty.hangUp()
	t.SetExit(exit, err)
}

func (t *Tree) awaitExit() (exit Exit, err error) {
	exited := false
	if t.poll == nil {
		for !exited && err == nil {
			exit, exited, err = waitUnreaped(unix.P_PID, t.pid, 0)
		}
		return exit, err
	}
	raw, err := t.poll.SyscallConn()
	if err != nil {
		return exit, err
	}
	pollErr := raw.Read(func(fd uintptr) (done bool) {
		exit, exited, err = waitUnreaped(unix.P_PIDFD, int(fd), unix.WNOHANG)
		return exited || err != nil
	})
	return exit, cmp.Or(pollErr, err) // pollErr means that Close closed it
}

// exitOfReaped returns how a leader ended that another part of the program reaped. From Linux 6.15 on its pidfd still
// tells.
func (t *Tree) exitOfReaped() (Exit, error) {
	info := unix.PidfdInfo{Mask: unix.PIDFD_INFO_EXIT}
	t.mu.Lock()
	t.reaped = true
	err := os.ErrClosed
	if !t.closed {
		err = unix.IoctlPidfdInfo(t.pidfd, &info)
	}
	t.mu.Unlock()
	if err == nil && info.Mask&unix.PIDFD_INFO_EXIT != 0 {
		exit := exitOf(syscall.WaitStatus(info.Exit_code))
		exit.Reaped = true
		return exit, nil
	}
	return Exit{Reaped: true}, ErrReaped
}

// childInfo is siginfo_t as waitid fills it in (man 2 sigaction): three ints, then the fields of SIGCHLD, aligned to a
// word. x/sys has no names for those fields.
type childInfo struct {
	signo, errno, code int32
	_                  [unsafe.Sizeof(uintptr(0)) - 4]byte
	pid, uid, status   int32
}

const (
	childExited = 1 // CLD_EXITED: status is an exit code
	childKilled = 2 // CLD_KILLED: status is a signal
	childDumped = 3 // CLD_DUMPED: status is a signal
)

// waitUnreaped waits for a child's exit with waitid, and leaves the zombie. It returns ECHILD after a reaping.
func waitUnreaped(idType, id, options int) (exit Exit, exited bool, err error) {
	var info unix.Siginfo
	var used unix.Rusage
	for {
		err = unix.Waitid(idType, id, &info, unix.WEXITED|unix.WNOWAIT|options, &used)
		if err != unix.EINTR {
			break
		}
	}
	child := (*childInfo)(unsafe.Pointer(&info))
	switch {
	case err != nil || child.pid == 0: // it runs
		return Exit{}, false, err
	case child.code == childExited:
		exit.Code = uint32(child.status)
	case child.code != childKilled && child.code != childDumped: // a tracer also sees it stop
		return Exit{}, false, nil
	default:
		exit.Signal = SignalName(syscall.Signal(child.status))
	}
	exit.CPUTime = time.Duration(used.Utime.Nano() + used.Stime.Nano())
	exit.PeakMemory = int64(used.Maxrss) << 10 // man 2 getrusage: kilobytes
	return exit, true, nil
}
