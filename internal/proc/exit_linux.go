package proc

// This file sees the exits of leaders on Linux, through their pidfds.

import (
	"cmp"
	"errors"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// exits reports the exits of a Supervisor's leaders. One goroutine sees all of them: there may be thousands of leaders,
// and a goroutine for each would need a stack.
type exits struct {
	busy sync.WaitGroup // run

	mu    sync.Mutex      // held during system calls that do not block
	epoll *os.File        // has the pidfds, and is in Go's poller; nil before the first leader
	raw   syscall.RawConn // epoll's
	trees map[int]*Tree   // by process ID, until the exit is reported
}

// expectExit makes the Supervisor report the leader's exit, which may already have happened.
func (s *Supervisor) expectExit(t *Tree) {
	if t.pidfd < 0 || s.exits.add(t) != nil { // before Linux 5.4, or out of descriptors or memory
		s.busy.Go(t.awaitExit)
	}
}

func (e *exits) add(t *Tree) (err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err = e.openLocked(); err != nil {
		return err
	}
	e.trees[t.pid] = t
	// Edge-triggered: while a tracer delays the exit, the pidfd is readable, although waitid reports no exit.
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: int32(t.pid)}
	controlErr := e.raw.Control(func(epoll uintptr) {
		err = unix.EpollCtl(int(epoll), unix.EPOLL_CTL_ADD, t.pidfd, &event)
	})
	if err = cmp.Or(controlErr, err); err != nil {
		delete(e.trees, t.pid)
	}
	return err
}

func (e *exits) openLocked() error {
	if e.epoll != nil {
		return nil
	}
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return err
	}
	epoll := pollable(fd, "exits")
	raw, err := epoll.SyscallConn()
	if err = cmp.Or(err, epoll.SetDeadline(time.Time{})); err != nil { // the system could not add it to Go's poller
		epoll.Close()
		return err
	}
	e.epoll, e.raw, e.trees = epoll, raw, make(map[int]*Tree)
	e.busy.Go(e.run)
	return nil
}

// run reports exits until close.
func (e *exits) run() {
	events := make([]unix.EpollEvent, 16)
	e.raw.Read(func(epoll uintptr) (done bool) {
		for n := len(events); n == len(events); {
			n, _ = unix.EpollWait(int(epoll), events, 0)
			for _, event := range events[:max(n, 0)] {
				e.mu.Lock()
				t := e.trees[int(event.Fd)] // a later one, if a forked child kept the pidfd open for a moment
				e.mu.Unlock()
				if t != nil && t.exitedNow() {
					e.forget(t)
				}
			}
		}
		return false
	})
}

// forget removes a tree, unless another one has its leader's process ID now.
func (e *exits) forget(t *Tree) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.trees[t.pid] == t {
		delete(e.trees, t.pid)
	}
}

// close is called after Close of every Tree.
func (e *exits) close() {
	e.epoll.Close()
	e.busy.Wait()
}

// exitedNow reports the leader's exit, if it has exited. It does not block.
func (t *Tree) exitedNow() bool {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return true
	}
	exit, exited, err := waitUnreaped(unix.P_PIDFD, t.pidfd, unix.WNOHANG)
	t.mu.Unlock()
	return t.reportExit(exit, exited, err)
}

// awaitExit waits for the leader's exit without its pidfd.
func (t *Tree) awaitExit() {
	for !t.reportExit(waitUnreaped(unix.P_PID, t.pid, 0)) {
	}
}

// reportExit passes the result of waitUnreaped on, unless the leader runs.
func (t *Tree) reportExit(exit Exit, exited bool, err error) (reported bool) {
	if !exited && err == nil {
		return false
	}
	if errors.Is(err, unix.ECHILD) {
		exit, err = t.exitOfReaped()
	}
	t.pty.hangUp()
	t.SetExit(exit, err)
	return true
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
