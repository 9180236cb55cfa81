//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package acpterm

// macOS and the BSDs: the leader's exit is seen with kqueue, which leaves the zombie.

import (
	"context"
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// fionread asks how many bytes lie in a pipe: _IOR('f', 127, int), the same on all of them.
const fionread = 0x4004667f

// exitWatch sees a child exit without reaping it.
type exitWatch struct{ queue int }

func (w *exitWatch) prepare(*syscall.SysProcAttr) {}

// open asks to be told of the exit. A child that has exited already is reported at once.
func (w *exitWatch) open(pid int) (err error) {
	if w.queue, err = unix.Kqueue(); err != nil {
		return err
	}
	unix.CloseOnExec(w.queue)
	var change unix.Kevent_t
	unix.SetKevent(&change, pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	change.Fflags = unix.NOTE_EXIT | noteExitStatus
	if _, err = unix.Kevent(w.queue, []unix.Kevent_t{change}, nil, nil); err != nil {
		unix.Close(w.queue)
	}
	return err
}

func (w *exitWatch) close() { unix.Close(w.queue) }

// await returns when the child has exited and leaves it a zombie. The event's data is what wait would say.
func (w *exitWatch) await(int) (exit, error) {
	events := make([]unix.Kevent_t, 1)
	for {
		n, err := unix.Kevent(w.queue, nil, events, nil)
		switch {
		case errors.Is(err, unix.EINTR) || err == nil && n == 0:
			continue
		case err != nil:
			return exit{}, err
		}
		status := unix.WaitStatus(events[0].Data)
		if status.Signaled() {
			return signalExit(status.Signal()), nil
		}
		return exit{code: uint32(status.ExitStatus())}, nil
	}
}

// awaitGone waits for the leader's exit, then sends SIGKILL to what is left of its group, whose number
// the zombie still holds. It does not see members of the group run on.
func (g *procGroup) awaitGone(ctx context.Context) []int {
	select {
	case <-g.exited:
		g.signal(unix.SIGKILL)
		return nil
	case <-ctx.Done():
		return []int{g.pid}
	}
}
