package acpterm

// Linux: the leader's exit is seen on a pidfd (loop_linux.go): no thread waits, however many terminals there are. Who else
// is in its tree members_linux.go says, or its cgroup where the embedder gave one (cgroup_linux.go).
//
// How a signal reaches no stranger: the leader's number, which is also its group's and its session's, cannot be
// given away before it is reaped (procgroup.go). Any other process is signalled through a pidfd. The pidfd is
// opened first; then the process that has the number is seen to belong to the tree; then the signal is sent to
// the pidfd. If the pidfd's process still lives at that moment, it had the number all along, and so is what was
// seen. If it does not, the signal reaches nobody.

import (
	"context"
	"errors"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// fionread asks how many bytes lie in a pipe (man 2 ioctl_tty: FIONREAD is TIOCINQ).
const fionread = unix.TIOCINQ

// exitWatch sees a child exit without reaping it.
type exitWatch struct {
	trees  *trees
	before numbering // from before the child began
	leader process   // the child's line of the table when it was read last; for end alone
	pid    int

	mu       sync.Mutex
	fd       int               // of the pidfd, as fork gave it; -1 on a kernel without, and when it is closed
	attended bool              // somebody waits for the exit and will look: nobody else need
	seen     *seenExit         // nil before
	tell     func(exit, error) // whom to tell; nil before that is known
}

// seenExit is an exit, or why it will not be seen.
type seenExit struct {
	exit exit
	err  error
}

// prepare asks for the pidfd to be made by the fork itself.
func (w *exitWatch) prepare(attr *syscall.SysProcAttr, t *trees) {
	w.trees, w.before = t, t.numberingBefore()
	w.fd = -1
	attr.PidFD = &w.fd
	attr.Pdeathsig = unix.SIGKILL // the host's end is the command's (loop_linux.go)
}

// open begins to watch. A pidfd that cannot be watched, as before Linux 5.3, is as good as none: a thread waits then.
func (w *exitWatch) open(pid int) error {
	w.pid = pid
	if w.fd >= 0 && w.trees.loop.watch(w.fd, w.look) != nil {
		unix.Close(w.fd)
		w.fd = -1
	}
	return nil
}

// look sees whether the child has exited, and leaves it a zombie (WNOWAIT).
func (w *exitWatch) look() {
	w.mu.Lock()
	if w.fd < 0 || w.seen != nil || w.attended {
		w.mu.Unlock()
		return
	}
	e, exited, err := waitNoReap(w.pid, unix.WNOHANG) // the number is the child's until its exit was seen
	w.mu.Unlock()
	if exited || err != nil {
		w.settle(seenExit{e, err})
	}
}

// attend waits for the exit, but not for long, and looks then. It is not for concurrent use, nor after close.
func (w *exitWatch) attend() {
	w.mu.Lock()
	fd := w.fd
	w.attended = fd >= 0 && w.seen == nil
	attended := w.attended
	w.mu.Unlock()
	if !attended {
		return
	}
	readableWithin(fd, soon)
	w.mu.Lock()
	w.attended = false
	w.mu.Unlock()
	w.look()
}

// settle tells of an exit, the first time that it is called.
func (w *exitWatch) settle(seen seenExit) {
	w.mu.Lock()
	tell := w.tell
	if w.seen != nil {
		tell = nil
	} else {
		w.seen = &seen
	}
	w.mu.Unlock()
	if tell != nil {
		tell(seen.exit, seen.err)
	}
}

// onExit has f told when the child has exited.
func (w *exitWatch) onExit(pid int, busy *sync.WaitGroup, f func(exit, error)) {
	w.mu.Lock()
	seen, watched := w.seen, w.fd >= 0
	w.tell = f
	w.mu.Unlock()
	switch {
	case seen != nil:
		f(seen.exit, seen.err)
	case !watched:
		busy.Go(func() {
			e, _, err := waitNoReap(pid, 0)
			w.settle(seenExit{e, err})
		})
	}
}

// close ends the watch.
func (w *exitWatch) close() {
	w.mu.Lock()
	fd := w.fd
	w.fd = -1
	w.mu.Unlock()
	if fd >= 0 {
		w.trees.loop.forget(fd)
		unix.Close(fd)
		w.settle(seenExit{err: os.ErrClosed})
	}
}

// childInfo is how waitid fills in siginfo_t (man 2 sigaction): three ints, then the fields of SIGCHLD,
// aligned to a word. x/sys has no names for those.
type childInfo struct {
	signo, errno, code int32
	_                  [unsafe.Sizeof(uintptr(0)) - 4]byte
	pid, uid, status   int32
}

const (
	cldExited    = 1 // CLD_EXITED: status is an exit code; else a signal
	allExitsOnly = unix.WEXITED | unix.WNOWAIT
)

// waitNoReap is waitid for a child's exit, leaving the zombie.
func waitNoReap(pid, options int) (e exit, exited bool, err error) {
	var info unix.Siginfo
	var used unix.Rusage
	for {
		err = unix.Waitid(unix.P_PID, pid, &info, allExitsOnly|options, &used)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	child := (*childInfo)(unsafe.Pointer(&info))
	switch {
	case err != nil || child.pid == 0: // WNOHANG, and it has not
		return exit{}, false, err
	case child.code == cldExited:
		e = exit{code: uint32(child.status)}
	default:
		e = signalExit(syscall.Signal(child.status))
	}
	e.used = usage{
		cpu:    time.Duration(used.Utime.Nano() + used.Stime.Nano()),
		memory: int64(used.Maxrss) << 10, // man 2 getrusage: kilobytes
	}
	return e, true, nil
}

// end sends a signal to the whole tree, and to those that join it later. It returns when none of it runs any more,
// or, with those who do, when the context ends first.
//
// A look at who runs is not one moment: a process that forks and exits while it goes on may be missed, and so may its
// child. So a look that finds nobody counts only if nothing on the machine was forked meanwhile, or after SIGKILL was sent
// to the group, which is one moment, and after which none of the group can fork.
func (g *procGroup) end(ctx context.Context, sig syscall.Signal) (gone bool, left []int) {
	signalled := make(map[identity]bool)
	strangers := make(map[identity]bool) // who was seen to carry no mark
	sealed := false                      // none of the group can fork
	for first := true; ctx.Err() == nil; first = false {
		exited, since := g.numbersSince()
		if g.neverForked(exited, since) {
			return true, nil
		}
		members := g.members(exited, since, strangers)
		for _, p := range members {
			if p.group != g.pid {
				g.strays.hold(p, g)
			}
		}
		switch {
		case len(members) == 0 && (sealed || g.trees.noneSince(since)):
			return true, nil
		case first && !(len(members) == 0 && g.hasExited()): // all of it in one moment, before one can see another go
			g.signalGroup(sig)
			sealed = sig == unix.SIGKILL
		case len(members) == 0:
			g.signalGroup(unix.SIGKILL)
			sealed = true
		}
		if sig == unix.SIGKILL {
			g.cgroup.kill()
		}
		for _, p := range members {
			if !signalled[p.identity] && !(first && p.group == g.pid) {
				g.signalMember(p, sig)
			}
			signalled[p.identity] = true
		}
		switch {
		case !exited: // most often all have when the leader has, so the next look is at whom it leaves
			g.awaitLeader(ctx)
		case len(members) == 1 && members[0].unknown:
			sleep(ctx, blindPause)
		default:
			for _, p := range members {
				p.awaitExit(ctx)
			}
		}
	}
	exited, since := g.numbersSince()
	return false, pids(g.members(exited, since, strangers))
}

// awaitLeader returns when the leader was seen to have exited, or the context has ended.
//
// Who is parked by Go is woken by another thread, which takes as long as most processes take to end. So one at a time, of
// those who end trees of this manager, waits in the kernel for a moment, and looks himself.
func (g *procGroup) awaitLeader(ctx context.Context) {
	if g.trees.attending.CompareAndSwap(false, true) {
		g.watch.attend()
		g.trees.attending.Store(false)
	}
	select {
	case <-g.exited:
	case <-ctx.Done():
	}
}

// soon is how long most processes take to end, and more.
const soon = 2 * time.Millisecond

// isGone reports whether the leader has exited, and whoever it had started, and they in turn, who would have numbers that were
// given out after its own: then there is no tree to end.
func (g *procGroup) isGone() bool {
	exited, since := g.numbersSince()
	return g.neverForked(exited, since) || exited && g.cgroup == nil && g.noneLeft(since)
}

// numbersSince are the numbers that the tree has its own among, as far as it was there when the leader was seen to have
// exited, or not.
func (g *procGroup) numbersSince() (exited bool, since pidRange) {
	exited = g.hasExited() // before the numbers: whom it has started has one of them then
	return exited, g.trees.pidsSince(g.pid, g.watch.before)
}

// neverForked reports whether the leader has exited and is all there ever was of its tree.
func (g *procGroup) neverForked(exited bool, since pidRange) bool {
	return exited && g.cgroup == nil && !g.trees.others(since, g.entry)
}

// hasExited reports whether the leader was seen to.
func (g *procGroup) hasExited() bool {
	select {
	case <-g.exited:
		return true
	default:
		return false
	}
}

// blindPause is how long it takes until the next look at a table that could not be read.
const blindPause = 10 * time.Millisecond

// sleep returns after a time, or when the context ends.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

func pids(members []member) (pids []int) {
	for _, p := range members {
		pids = append(pids, p.pid)
	}
	return pids
}

// pollable hands a descriptor to Go's poller.
func pollable(fd int) (*os.File, error) {
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), "pidfd"), nil
}

// isReadable reports whether a descriptor is: a pidfd, whether its process has exited.
func isReadable(fd int) bool { return readableWithin(fd, 0) }

// readableWithin reports whether a descriptor is readable, or becomes so within a time. It takes a thread for as long.
func readableWithin(fd int, patience time.Duration) bool {
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for end := time.Now().Add(patience); ; patience = max(time.Until(end), 0) {
		n, err := unix.Poll(poll, int(patience.Milliseconds()))
		if err != unix.EINTR {
			return err == nil && n > 0
		}
	}
}

// awaitExit returns when the process has exited, or the context has ended.
func (p process) awaitExit(ctx context.Context) {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return
	}
	if err == nil && (isReadable(fd) || !p.isStill()) { // as most are who were just sent a signal
		unix.Close(fd)
		return
	}
	var pidfd *os.File
	if err == nil {
		pidfd, err = pollable(fd)
	}
	if err != nil { // an old kernel, or no descriptors left: the caller looks again in a while
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
		}
		return
	}
	awaitReadable(ctx, pidfd)
}

// awaitReadable returns when a pidfd is readable, or the context has ended, and closes it.
func awaitReadable(ctx context.Context, pidfd *os.File) {
	defer pidfd.Close()
	defer context.AfterFunc(ctx, func() { pidfd.SetReadDeadline(time.Unix(1, 0)) })()
	if raw, err := pidfd.SyscallConn(); err == nil {
		// The poller tells of an exit once, and what it told of before is forgotten now: so it is asked for each time.
		raw.Read(func(fd uintptr) (done bool) { return isReadable(int(fd)) })
	}
}
