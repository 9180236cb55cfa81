//go:build darwin || freebsd

package proc

// A Tree on macOS and FreeBSD.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/acpterm/acpterm/internal/procfs"
)

// On macOS and FreeBSD the leader's exit is seen by kqueue, which leaves the zombie, and the rest of the tree is found
// in the process table. This file is compiled and vetted; it has never run.
//
// While the leader runs or is a zombie, its number is given to no process, group or session (XNU forkproc, FreeBSD
// fork_findpid), so a signal to its group reaches no other. A process outside of the group has no pidfd: it is known by
// its number and the microsecond of its start, which are read again right before kill(2). For that signal to reach
// another process, the process has to exit and be reaped in the microseconds between, and its number to be given out
// again, after all others or, with FreeBSD's kern.randompid, by chance.

// Supervisor starts trees. The zero value is ready. Its methods may be called concurrently, but Close only when every
// Tree is closed, and nothing after it.
type Supervisor struct {
	// HostReaps has no effect here: kqueue says how a leader ended, whatever reaps it.
	HostReaps bool

	busy    sync.WaitGroup // the goroutines of trees
	inherit inherit
}

// Reaped returns false: nothing needs to be handed over.
func (s *Supervisor) Reaped(int, syscall.WaitStatus) bool { return false }

// Close returns when the Supervisor's goroutines have ended.
func (s *Supervisor) Close() { s.busy.Wait() }

// Tree is a command that was started and all that it starts. Its methods may be called concurrently, but End by one
// goroutine at a time, and none but Close after Close.
type Tree struct {
	common
	queue exitQueue
	early bool // the leader was exiting before the queue could watch it
	keeps bool // Spec.KeepDetached
	lent  bool // StartCmd has started the leader, and cmd.Wait reaps it

	escaped map[procfs.ID]bool // members that were found outside of the group: they stay members. For one End at a time

	mu     sync.Mutex // held over kill, and wait4 of a zombie, neither of which blocks
	closed bool
}

// Start starts a command: with standard input at end of file, one pipe for both outputs, a session of its own. Its
// errors are those of os/exec, and *LimitError: no limit can be enforced here.
func (s *Supervisor) Start(ctx context.Context, spec Spec) (_ *Tree, err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if len(spec.Limits) > 0 {
		return nil, &LimitError{spec.Limits[0].Name, "cannot be enforced on this system", errors.ErrUnsupported}
	}
	if spec.Cgroup != "" {
		return nil, fmt.Errorf("cgroups: %w", errors.ErrUnsupported)
	}
	t := &Tree{keeps: spec.KeepDetached, escaped: make(map[procfs.ID]bool)}
	defer func() {
		if err != nil {
			t.output.Close()
			t.pty.close()
		}
	}()
	cmd := &exec.Cmd{
		Path: spec.Path, Args: spec.Args, Env: spec.Env, Dir: spec.Dir,
		ExtraFiles:  s.inherit.closingOthers(spec.Files),
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := t.startLeader(cmd, spec); err != nil {
		return nil, err
	}
	if err := t.openQueue(); err != nil {
		unix.Kill(-t.pid, unix.SIGKILL)
		reap(t.pid)
		return nil, err
	}
	s.busy.Go(func() {
		exit, err := t.awaitExit()
		t.pty.hangUp()
		t.SetExit(exit, err)
	})
	return t, nil
}

// startLeader starts the leader, on a PTY or with a pipe.
func (t *Tree) startLeader(cmd *exec.Cmd, spec Spec) (err error) {
	if spec.PTY != nil {
		if t.pty, t.output, err = openPTY(*spec.PTY); err != nil {
			return err
		}
		cmd.Stdin, cmd.Stdout, cmd.Stderr = t.pty.slave, t.pty.slave, t.pty.slave
		cmd.SysProcAttr.Setctty = true // Ctty is descriptor 0 of the command
	} else {
		output, w, err := os.Pipe()
		if err != nil {
			return err
		}
		defer w.Close()
		t.output, cmd.Stdout, cmd.Stderr = output, w, w
		if spec.Stdin != nil { // a nil file would not be a nil Reader
			cmd.Stdin = spec.Stdin
		}
		if spec.Stderr != nil {
			cmd.Stderr = spec.Stderr
		}
	}
	if err := withDefaultSignals(cmd.Start); err != nil {
		return err
	}
	t.pid = cmd.Process.Pid
	cmd.Process.Release() // Close reaps it
	return nil
}

// KeepDetached is Spec.KeepDetached from here on. It must not be called during End.
func (t *Tree) KeepDetached() { t.keeps = true }

// StartCmd starts a command of the caller's, in a session of its own. The Tree has no output. The caller reaps the
// leader: by cmd.Wait, after Close. It fails with ErrForeignGroup, or as cmd.Start does.
func (s *Supervisor) StartCmd(cmd *exec.Cmd, _ Mark) (*Tree, error) {
	sys, err := ownSession(cmd.SysProcAttr)
	if err != nil {
		return nil, err
	}
	cmd.SysProcAttr = sys
	if err := withDefaultSignals(cmd.Start); err != nil {
		return nil, err
	}
	t := &Tree{common: common{pid: cmd.Process.Pid}, lent: true, escaped: make(map[procfs.ID]bool)}
	if err := t.openQueue(); err != nil {
		unix.Kill(-t.pid, unix.SIGKILL)
		cmd.Wait()
		return nil, err
	}
	s.busy.Go(func() { t.SetExit(t.awaitExit()) })
	return t, nil
}

// openQueue begins to watch the leader, which may have exited already. FreeBSD reports that at once (filt_procattach:
// zpfind). macOS says ESRCH then (XNU filt_procattach: proc_find), and awaitEarly tells how it ended. A leader that XNU
// finds does not exit past the watch: proc_exit waits for what has found it (proc_refdrain) before it posts the event.
func (t *Tree) openQueue() (err error) {
	if t.queue.fd, err = unix.Kqueue(); err != nil {
		return err
	}
	unix.CloseOnExec(t.queue.fd) // else commands would have it closed
	err = t.queue.add(t.pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT, unix.NOTE_EXIT|noteExitStatus, 0)
	if errors.Is(err, unix.ESRCH) && seesEarlyExits {
		t.early = true
		return nil
	}
	if err != nil {
		t.queue.close()
	}
	return err
}

// awaitExit returns when the leader has exited and is a zombie, or becomes one: XNU's proc_exit posts NOTE_EXIT, then
// sets SZOMB, so reap may wait for that. The leader's files are closed by then (fdt_invalidate comes first).
func (t *Tree) awaitExit() (Exit, error) {
	await := t.queue.next
	if t.early {
		await = func() (syscall.WaitStatus, error) { return awaitEarly(t.pid) }
	}
	status, err := await()
	if err != nil {
		return Exit{}, err
	}
	return exitOf(status), nil
}

// signalGroup sends to the group, whether its leader runs or not. Errors say nothing that a scan does not: ESRCH that
// the group is empty, EPERM that it has zombies only (on macOS) or processes of another user.
func (t *Tree) signalGroup(sig syscall.Signal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		send(sig, func(sig syscall.Signal) error { return unix.Kill(-t.pid, sig) })
	}
}

// Close reaps the leader if it has exited. One that has not is left to run, and one of StartCmd's to cmd.Wait.
func (t *Tree) Close() {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return
	}
	t.closed = true
	if t.exitSeen() && !t.lent {
		reap(t.pid)
	}
	t.mu.Unlock()
	t.queue.close() // without the lock: it waits for awaitExit
	t.pty.close()
	t.SetExit(Exit{}, os.ErrClosed)
}

// reap takes a child's zombie away.
func reap(pid int) {
	for {
		if _, err := unix.Wait4(pid, nil, 0, nil); err != unix.EINTR {
			return
		}
	}
}

// End sends a signal to the members that exist when it begins, and SIGKILL to later ones too (see end_linux.go). It
// returns when none of the tree runs any more, or when ctx ends: then with the numbers of those that still run.
//
// Neither the process table nor a signal to the group is atomic: XNU lists the numbers first, visits them after, and
// passes over a process that is just being forked (proc_iterate, pgrp_iterate: SIDL, P_REF_NEW). Its parent is in the
// list, and is missed only if it exits before it is visited; the child can be seen by then. So the tree is gone when a
// scan finds nothing, SIGKILL is sent to the group, which reaches that child, and another scan finds nothing.
func (t *Tree) End(ctx context.Context, sig syscall.Signal) (left []int) {
	signalled := make(map[procfs.ID]bool)
	var since procfs.ID // right before the first signal
	sealed := false     // the last scan found nothing, and then SIGKILL was sent to the group
	pause := stepPause
	for first := true; ; first = false {
		members, err := t.members()
		if err != nil {
			return t.endGroup(ctx, sig)
		}
		empty := len(members) == 0
		if empty && sealed {
			return nil
		}
		if !first && ctx.Err() != nil {
			for _, p := range members {
				left = append(left, p.PID)
			}
			return left
		}
		sealed = false
		switch {
		case first:
			since.Started = uint64(time.Now().UnixMicro())
			t.signalGroup(sig)
			sealed = empty && sig == unix.SIGKILL
		case empty:
			t.signalGroup(unix.SIGKILL)
			sealed = true
		}
		for _, p := range members {
			switch {
			case first && p.Group == t.pid || signalled[p.ID]:
			case !first && sig != unix.SIGKILL && p.ID.After(since):
				continue // clean-up perhaps
			case p.Group == t.pid && sig == unix.SIGKILL:
				t.signalGroup(sig) // twice does no harm, and a group's number cannot be another's
			case !t.signalMember(p, sig):
				continue // it has changed: the next scan sees how
			}
			signalled[p.ID] = true
		}
		t.pause(ctx, pause)
		pause = min(2*pause, maxPause)
	}
}

// Gone returns false: only End can tell.
func (t *Tree) Gone() bool { return false }

// endGroup is End where the process table cannot be read: it signals the group, waits for the leader's exit, and then
// kills what is left of the group, whose number the zombie still holds.
func (t *Tree) endGroup(ctx context.Context, sig syscall.Signal) (left []int) {
	t.signalGroup(sig)
	select {
	case <-t.known.Done():
		t.signalGroup(unix.SIGKILL)
		return nil
	case <-ctx.Done():
		return []int{t.pid}
	}
}

// members are the running processes of the tree: those in the group or the session of the leader, all their children,
// and those that were found before. A process that leaves the session and loses its parent before a scan (setsid after
// a double fork: a daemon) cannot be told from any other.
//
// The parent's number tells: a process with a parent in the tree was its child when the kernel wrote the line, since an
// orphan's parent becomes process 1.
func (t *Tree) members() ([]procfs.Process, error) {
	t.mu.Lock()
	closed := t.closed
	t.mu.Unlock()
	if closed {
		return nil, nil
	}
	table, err := procfs.List()
	if err != nil {
		return nil, err
	}
	self, in := os.Getpid(), make(map[int]bool)
	for grown := true; grown; {
		grown = false
		for _, p := range table {
			if in[p.PID] || p.PID == self {
				continue
			}
			isChild := in[p.Parent] && !(t.keeps && p.Session != t.pid)
			if p.Group == t.pid || p.Session == t.pid || isChild || t.escaped[p.ID] {
				in[p.PID], grown = true, true
			}
		}
	}
	var members []procfs.Process
	for _, p := range table {
		if in[p.PID] && !p.Exited {
			members = append(members, p)
			if p.Group != t.pid {
				t.hold(p)
			}
		}
	}
	return members, nil
}

// hold remembers a process outside of the group if what made it one of the tree is seen again, or if its parent has
// gone since, which makes it an orphan of the tree.
func (t *Tree) hold(p procfs.Process) {
	if now, _ := procfs.Read(p.PID); now == p || now.ID == p.ID && now.Parent != p.Parent {
		t.escaped[p.ID] = true
	}
}

// signalMember sends to a process that was found in the tree and still is what was found; false if that cannot be said.
func (t *Tree) signalMember(p procfs.Process, sig syscall.Signal) bool {
	return send(sig, func(sig syscall.Signal) error {
		now, ok := procfs.Read(p.PID)
		if !ok || now.Exited || now.ID != p.ID || now.Group != t.pid && !t.escaped[p.ID] {
			return unix.ESRCH
		}
		unix.Kill(p.PID, sig) // one of another user stays, and is reported in the end
		return nil
	}) == nil
}

// exitQueue is a kqueue for a process's exit, whose wait can be ended. A child does not inherit it (man 2 kqueue).
//
// Closing a kqueue wakes the thread that waits on it on macOS (kqueue_drain) but not on FreeBSD, and on either the
// descriptor may be another file's before that thread is back. So close wakes the thread, and waits until it has left.
type exitQueue struct {
	waiting sync.Mutex // held by the goroutine that waits
	fd      int        // -1 once it is closed
}

// add registers an event. ESRCH is a process that is not there or, on macOS, exiting.
func (q *exitQueue) add(ident, filter, flags int, notes uint32, data int64) error {
	var change unix.Kevent_t
	unix.SetKevent(&change, ident, filter, flags)
	change.Fflags, change.Data = notes, data
	for {
		_, err := unix.Kevent(q.fd, []unix.Kevent_t{change}, nil, nil)
		if !errors.Is(err, unix.EINTR) { // the change was made all the same, and may be made twice
			return err
		}
	}
}

// next returns the exit, as wait4 would (man 2 kqueue, NOTE_EXIT), or os.ErrClosed when the queue was closed.
func (q *exitQueue) next() (syscall.WaitStatus, error) {
	q.waiting.Lock()
	defer q.waiting.Unlock()
	events := make([]unix.Kevent_t, 1)
	for q.fd >= 0 {
		n, err := unix.Kevent(q.fd, nil, events, nil)
		switch {
		case errors.Is(err, unix.EINTR) || err == nil && n == 0:
		case err != nil:
			return 0, err
		case events[0].Filter == unix.EVFILT_TIMER:
			return 0, os.ErrClosed
		default:
			return syscall.WaitStatus(events[0].Data), nil
		}
	}
	return 0, os.ErrClosed
}

// close is for one caller, and not concurrent with add. A timer that fires each millisecond wakes next.
func (q *exitQueue) close() {
	if !q.waiting.TryLock() {
		q.add(0, unix.EVFILT_TIMER, unix.EV_ADD, 0, 1)
		q.waiting.Lock()
	}
	defer q.waiting.Unlock()
	if q.fd >= 0 {
		unix.Close(q.fd)
		q.fd = -1
	}
}
