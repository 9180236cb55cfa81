//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package acpterm

// macOS and the BSDs: the leader's exit is seen with kqueue, which leaves the zombie. How the rest of its tree is
// found and ended is in procgroup_sweep.go, for the systems whose process table is read, and in procgroup_nosweep.go.

import (
	"context"
	"errors"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// fionread asks how many bytes lie in a pipe: _IOR('f', 127, int), the same on all of them.
const fionread = 0x4004667f

// exitWatch sees a child exit without reaping it. It costs a descriptor, and a thread while somebody awaits. Go's
// poller cannot do that for us: it asks of every descriptor to be watched for reading and for writing at once
// (runtime/netpoll_kqueue.go, netpollopen), and a kqueue can be watched for reading only (kqueue_kqfilter of XNU and
// FreeBSD: EINVAL).
type exitWatch struct {
	queue exitQueue
	early bool // the child was exiting before the queue was told of it
}

func (w *exitWatch) prepare(*syscall.SysProcAttr, *trees) {}

// open begins to watch. The child may have exited already. FreeBSD and DragonFly report it at once then
// (filt_procattach: zpfind). The others say ESRCH from when the child exits on (XNU filt_procattach: proc_find); macOS
// has another way to learn how it ended (awaitEarly). A child that XNU does find cannot exit past the watch:
// its proc_exit waits for who has found it (proc_refdrain) before it posts the event.
func (w *exitWatch) open(pid int) error {
	if err := w.queue.open(); err != nil {
		return err
	}
	err := w.queue.add(pid, unix.NOTE_EXIT|noteExitStatus)
	if errors.Is(err, unix.ESRCH) && seesEarlyExits {
		w.early = true
		return nil
	}
	if err != nil {
		w.queue.close()
	}
	return err
}

// onExit has f told when the child has exited.
func (w *exitWatch) onExit(pid int, busy *sync.WaitGroup, f func(exit, error)) {
	busy.Go(func() { f(w.await(pid)) })
}

// close ends the watch, and makes an await return.
func (w *exitWatch) close() { w.queue.close() }

// await returns when the child has exited and leaves it a zombie, or makes it one: the event may come a moment
// before (XNU proc_exit posts NOTE_EXIT, then sets SZOMB), so who reaps it must be ready to wait. All files
// of the child are closed by then (fdt_invalidate comes first).
func (w *exitWatch) await(pid int) (exit, error) {
	var status unix.WaitStatus
	var err error
	if w.early {
		status, err = awaitEarly(pid)
	} else {
		var event unix.Kevent_t
		event, err = w.queue.next()
		status = unix.WaitStatus(event.Data) // as wait4 would say (man 2 kqueue, NOTE_EXIT)
	}
	switch {
	case err != nil:
		return exit{}, err
	case status.Signaled():
		return signalExit(status.Signal()), nil
	}
	return exit{code: uint32(status.ExitStatus())}, nil
}

// exitQueue is a kqueue of processes' exits, from whose wait one can be woken. A child does not inherit it
// (man 2 kqueue).
//
// To close a kqueue that a thread waits on wakes that thread on macOS (kqueue_drain) but not on FreeBSD, where the
// waiting thread keeps it open; and on either the number may be somebody else's before the thread is back. So close
// wakes whoever waits, and waits until it has left.
type exitQueue struct {
	waiting sync.Mutex // held by who waits
	fd      int        // -1 once it is closed
}

func (q *exitQueue) open() (err error) {
	if q.fd, err = unix.Kqueue(); err == nil {
		unix.CloseOnExec(q.fd) // so that inherited does not take it for one to be closed
	}
	return err
}

// add asks for a process's exit. ESRCH is that it is not there or, but for FreeBSD and DragonFly, exiting.
func (q *exitQueue) add(pid int, notes uint32) error {
	var change unix.Kevent_t
	unix.SetKevent(&change, pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	change.Fflags = notes
	return q.change(change)
}

// wake makes next return, now and from now on: a timer rings every millisecond. (EVFILT_USER, which is made for
// this, is not in every NetBSD and OpenBSD.)
func (q *exitQueue) wake() {
	var change unix.Kevent_t
	unix.SetKevent(&change, 0, unix.EVFILT_TIMER, unix.EV_ADD)
	change.Data = 1
	q.change(change)
}

func (q *exitQueue) change(change unix.Kevent_t) error {
	for {
		_, err := unix.Kevent(q.fd, []unix.Kevent_t{change}, nil, nil)
		if !errors.Is(err, unix.EINTR) { // the change was made all the same, and may be made twice
			return err
		}
	}
}

// next returns the next exit, or os.ErrClosed when it was woken or closed.
func (q *exitQueue) next() (unix.Kevent_t, error) {
	q.waiting.Lock()
	defer q.waiting.Unlock()
	events := make([]unix.Kevent_t, 1)
	for q.fd >= 0 {
		n, err := unix.Kevent(q.fd, nil, events, nil)
		switch {
		case errors.Is(err, unix.EINTR) || err == nil && n == 0:
		case err != nil:
			return events[0], err
		case events[0].Filter == unix.EVFILT_TIMER:
			return events[0], os.ErrClosed
		default:
			return events[0], nil
		}
	}
	return events[0], os.ErrClosed
}

// close is for one caller, and not concurrent with wake or add.
func (q *exitQueue) close() {
	if !q.waiting.TryLock() {
		q.wake()
		q.waiting.Lock()
	}
	defer q.waiting.Unlock()
	if q.fd >= 0 {
		unix.Close(q.fd)
		q.fd = -1
	}
}

// endGroup is end for where nobody can be seen but the leader: it signals the group, waits for the leader's exit,
// and then kills what is left of the group, whose number the zombie still holds. It neither sees members of the group
// run on nor gives them what grace the leader did not need, and what left the group is not found. (That a group has
// zombies only cannot be had from kill(2) either: to the BSDs they count as found; to macOS they do not, and it says
// EPERM, XNU killpg1, which is also what it says of members of another user.)
func (g *procGroup) endGroup(ctx context.Context, sig syscall.Signal) (gone bool, left []int) {
	g.signalGroup(sig)
	select {
	case <-g.exited:
		g.signalGroup(unix.SIGKILL)
		return true, nil
	case <-ctx.Done():
		return false, []int{g.pid}
	}
}
