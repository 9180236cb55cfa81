//go:build darwin || freebsd

package proc

// This file implements Tree on macOS and FreeBSD.

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

// On macOS and FreeBSD, kqueue reports the leader's exit and leaves the zombie, and the rest of the tree is found in
// the process table. This file is compiled and vetted; it has never run.
//
// While the leader runs or is a zombie, the system gives its ID to no other process, group or session (XNU forkproc,
// FreeBSD fork_findpid), so a signal to its group reaches no other. A process outside the group has no pidfd: it is
// identified by its process ID and its start time in microseconds, which are read again right before kill(2). For that
// signal to reach another process, the process must exit and be reaped in the microseconds between, and its ID must be
// reused, after all other IDs or, with FreeBSD's kern.randompid, by chance.

// Supervisor starts trees. The zero value is ready to use. Its methods are safe for concurrent use, but Close must be
// the last call, after every Tree is closed.
type Supervisor struct {
	busy    sync.WaitGroup // the trees' goroutines
	lookout lookout
}

// Close waits until the Supervisor's goroutines have ended.
func (s *Supervisor) Close() { s.busy.Wait() }

// Tree is a started command with all its descendants. Its methods are safe for concurrent use, except that only one
// goroutine at a time may call End, and that only Close may be called after Close.
type Tree struct {
	common
	queue exitQueue
	early bool // the leader was already exiting when the queue began to watch it
	keeps bool // Spec.KeepDetached
	lent  bool // StartCmd started the leader, and cmd.Wait reaps it

	escaped map[procfs.ID]bool // members once found outside the group, which stay members; used by End only
	trace   *trace             // of the current End, or nil

	mu     sync.Mutex // held during kill and wait4 of a zombie; neither blocks
	closed bool
}

// Start starts a command in its own session. It returns the errors of os/exec, or a *LimitError if spec has a limit.
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
	s.lookout.look()
	cmd := &exec.Cmd{
		Path: spec.Path, Args: spec.Args, Env: spec.Env, Dir: spec.Dir,
		ExtraFiles:  spec.Files,
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
		cmd.SysProcAttr.Setctty = true // Ctty is the command's descriptor 0
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
	start := func() error { return closedWhileStarting.closeInChild(cmd.Start) }
	if err := withDefaultSignals(start); err != nil {
		return err
	}
	t.pid = cmd.Process.Pid
	cmd.Process.Release() // Close reaps it
	return nil
}

// KeepDetached turns on Spec.KeepDetached. It must not be called during End.
func (t *Tree) KeepDetached() { t.keeps = true }

// StartCmd starts the caller's command in its own session. The Tree has no output. After Close, the caller reaps the
// leader with cmd.Wait. StartCmd returns ErrForeignGroup or the error of cmd.Start.
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

// openQueue begins to watch the leader, which may already have exited. FreeBSD reports that immediately
// (filt_procattach: zpfind). macOS returns ESRCH (XNU filt_procattach: proc_find), and awaitEarly then finds out how
// the leader ended. A leader that XNU finds cannot exit unnoticed: before it posts the event, proc_exit waits for
// everyone who holds a reference to the process (proc_refdrain).
func (t *Tree) openQueue() (err error) {
	if t.queue.fd, err = unix.Kqueue(); err != nil {
		return err
	}
	unix.CloseOnExec(t.queue.fd)
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

// awaitExit returns when the leader has exited and is a zombie, or is about to become one: XNU's proc_exit posts
// NOTE_EXIT, then sets SZOMB, so reap may have to wait. The leader's files are already closed (fdt_invalidate).
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

// signalGroup sends a signal to the group, even if the leader has exited. It ignores errors, because a scan reveals the
// same: ESRCH means that the group is empty, EPERM that it has only zombies (on macOS) or another user's processes.
func (t *Tree) signalGroup(sig syscall.Signal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		err := send(sig, func(sig syscall.Signal) error { return unix.Kill(-t.pid, sig) })
		t.trace.sends(sig, "the leader's process group", t.pid, err)
	}
}

// Close reaps the leader if it has exited; a running one keeps running. cmd.Wait reaps the leader of StartCmd.
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
	t.queue.close() // without the lock, because it waits for awaitExit
	t.pty.close()
	t.SetExit(Exit{}, os.ErrClosed)
}

func reap(pid int) {
	for {
		if _, err := unix.Wait4(pid, nil, 0, nil); err != unix.EINTR {
			return
		}
	}
}

// end implements End. It sends a signal to the members that exist when it begins. It also sends SIGKILL to processes
// started later (see end_linux.go). It returns when the tree has no running process or ctx is done, with the IDs of the
// running members.
//
// Neither reading the process table nor signalling the group is atomic: XNU first lists the process IDs, then visits
// them, and skips a process during its fork (proc_iterate, pgrp_iterate: SIDL, P_REF_NEW). The parent of that process
// is in the list, and is only missed if it exits before it is visited; by then the child is visible. So the tree is
// gone when one scan finds nothing, and another one after SIGKILL to the group, which reaches such a child.
func (t *Tree) end(ctx context.Context, sig syscall.Signal) (left []int, doubt error) {
	signalled := make(map[procfs.ID]bool)
	var since procfs.ID // right before the first signal
	sealed := false     // the last scan found nothing, and SIGKILL was sent to the group after it
	pause := stepPause
	for first := true; ; first = false {
		members, err := t.members()
		if err != nil {
			return t.endGroup(ctx, sig, err)
		}
		empty := len(members) == 0
		if empty && sealed {
			return nil, nil
		}
		if !first && !empty && ctx.Err() != nil {
			return t.remains(members, sig)
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
				t.trace.leaves(p.PID, "started after the signal, perhaps to clean up")
				continue
			case p.Group == t.pid && sig == unix.SIGKILL:
				t.signalGroup(sig) // twice is harmless, and the group's ID is not reused
			case t.signalMember(p, sig) != nil:
				continue // it has changed, or is another user's; the next scan shows which
			}
			signalled[p.ID] = true
		}
		t.pause(ctx, pause)
		pause = min(2*pause, maxPause)
	}
}

// remains returns the members found by the last scan of an End. Those that SIGKILL reaches are exiting.
func (t *Tree) remains(members []procfs.Process, sig syscall.Signal) (left []int, doubt error) {
	var killed []int
	for _, p := range members {
		if sig == unix.SIGKILL && t.signalMember(p, sig) == nil {
			killed = append(killed, p.PID)
		} else {
			left = append(left, p.PID)
		}
	}
	return left, exiting(killed)
}

// Gone returns false: only End can tell.
func (t *Tree) Gone() bool { return false }

// Rest looks for the processes of the tree. It returns nil if two looks find none: reading the process table is not
// atomic. Otherwise the caller calls await, once, and then looks again. await returns after a second, or when ctx is
// done. With Spec.KeepDetached, Rest makes no process a member for later: it may detach itself.
func (t *Tree) Rest() (await func(ctx context.Context)) {
	if t.keeps {
		defer clear(t.escaped)
	}
	for range 2 {
		if members, err := t.members(); err != nil || len(members) > 0 || !t.HasExited() {
			return func(ctx context.Context) { t.pause(ctx, time.Second) }
		}
	}
	return nil
}

// endGroup implements End if the process table cannot be read. It signals the group, waits for the leader's exit, and
// then kills the rest of the group, whose ID the zombie still holds. Its doubt says that other members may run.
func (t *Tree) endGroup(ctx context.Context, sig syscall.Signal, err error) (left []int, doubt error) {
	t.signalGroup(sig)
	select {
	case <-t.known.Done():
		t.signalGroup(unix.SIGKILL)
	case <-ctx.Done():
		left = []int{t.pid}
	}
	return left, fmt.Errorf("the process table cannot be read: %w", err)
}

// members returns the running processes of the tree: those in the leader's group or session, all their children, and
// members found earlier. A process that leaves the session and loses its parent before a scan (setsid after a double
// fork: a daemon) cannot be told from any other process.
//
// The parent's process ID is reliable: a process with a parent in the tree was its child when the kernel wrote the
// entry, because an orphan's parent becomes process 1.
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
				t.traceMember(p)
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

// traceMember tells why a process is a member.
func (t *Tree) traceMember(p procfs.Process) {
	switch {
	case p.Exited:
		t.trace.leaves(p.PID, "has exited, and is not reaped yet")
	case p.Group == t.pid:
		t.trace.found(p.PID, p.Started, "in the leader's process group")
	case p.Session == t.pid:
		t.trace.found(p.PID, p.Started, "in the leader's session")
	case t.escaped[p.ID]:
		t.trace.found(p.PID, p.Started, "outside the leader's group, found by an earlier scan")
	default:
		t.trace.found(p.PID, p.Started, "the child of a member")
	}
}

// hold remembers a process outside the group if a second look still shows it as a member, or if its parent has gone
// since, which makes it an orphan of the tree.
func (t *Tree) hold(p procfs.Process) {
	if now, _ := procfs.Read(p.PID); now == p || now.ID == p.ID && now.Parent != p.Parent {
		t.escaped[p.ID] = true
	}
}

// signalMember sends a signal to a member. It fails if its number was reused, or if another user owns the process.
func (t *Tree) signalMember(p procfs.Process, sig syscall.Signal) (err error) {
	defer func() { t.trace.sends(sig, "the process alone", p.PID, err) }()
	return send(sig, func(sig syscall.Signal) error {
		now, ok := procfs.Read(p.PID)
		if !ok || now.Exited || now.ID != p.ID || now.Group != t.pid && !t.escaped[p.ID] {
			return unix.ESRCH
		}
		return unix.Kill(p.PID, sig)
	})
}

// exitQueue is a kqueue that waits for a process's exit. Closing it ends the wait. A child does not inherit it.
//
// Closing a kqueue wakes the thread that waits on it on macOS (kqueue_drain) but not on FreeBSD. On both, the
// descriptor may already belong to another file before that thread returns. So close wakes the thread, and waits until
// it has left.
type exitQueue struct {
	waiting sync.Mutex // held by the waiting goroutine
	fd      int        // -1 after close
}

// add registers an event. It returns ESRCH if the process does not exist or, on macOS, is exiting.
func (q *exitQueue) add(ident, filter, flags int, notes uint32, data int64) error {
	var change unix.Kevent_t
	unix.SetKevent(&change, ident, filter, flags)
	change.Fflags, change.Data = notes, data
	for {
		_, err := unix.Kevent(q.fd, []unix.Kevent_t{change}, nil, nil)
		if !errors.Is(err, unix.EINTR) { // the change was made anyway, and may be made twice
			return err
		}
	}
}

// next returns the exit as a wait4 status (man 2 kqueue, NOTE_EXIT), or os.ErrClosed if the queue was closed.
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

// close must not be called concurrently with itself or add. A timer that fires each millisecond wakes next.
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
