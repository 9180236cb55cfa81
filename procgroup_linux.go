package acpterm

// Linux: the leader's exit is seen on a pidfd (loop_linux.go): no thread waits, however many terminals there are. The other processes of its tree are found in /proc, or are those of its
// cgroup where the embedder gave one (cgroup_linux.go).
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
	"slices"
	"strings"
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

	mu   sync.Mutex
	fd   int               // of the pidfd, as fork gave it; -1 on a kernel without, and when it is closed
	seen *seenExit         // nil before
	tell func(exit, error) // whom to tell; nil before that is known
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
	if w.fd < 0 || w.seen != nil {
		w.mu.Unlock()
		return
	}
	e, exited, err := waitNoReap(w.pid, unix.WNOHANG) // the number is the child's until its exit was seen
	w.mu.Unlock()
	if exited || err != nil {
		w.settle(seenExit{e, err})
	}
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
// A look at /proc is not one moment: a process that forks and exits while it goes on may be missed, and so may its
// child. So a look that finds nobody counts only after SIGKILL was sent to the group, which is one moment, and
// after which none of the group can fork.
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
		case len(members) == 0 && sealed:
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
		for _, p := range members {
			if p.pid != g.pid { // whose exit is seen by another
				p.awaitExit(ctx)
			}
		}
		select {
		case <-g.exited:
		case <-ctx.Done():
		}
		if len(members) == 1 && members[0].unknown() {
			sleep(ctx, blindPause)
		}
	}
	exited, since := g.numbersSince()
	return false, pids(g.members(exited, since, strangers))
}

// isGone reports whether the leader has exited and has never started anybody: then there is no tree to end. Whoever it
// had started, and they in turn, would have a number that was given out after its own.
func (g *procGroup) isGone() bool { return g.hasExited() && g.neverForked(g.numbersSince()) }

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

// member is a running process of the tree.
type member struct {
	process
	escaped bool // it has left the session, and so has its parent or it has none in the tree
}

// unknown reports whether it stands for a tree that cannot be seen.
func (m member) unknown() bool { return m.started == 0 }

// members are the running processes of the tree: those of the terminal's cgroup, if it has one; the group and
// the session of the leader; whoever has the terminal's mark in its environment or its output open for writing,
// which outlive a new session, a double fork and each other; and all their children. What has left all of that
// cannot be told from a stranger; only a cgroup holds it.
//
// A process that began before the leader is none of its tree, nor is this one. Strangers are those who were seen to carry
// no mark when they were looked at before; those who are now are added.
func (g *procGroup) members(exited bool, since pidRange, strangers map[identity]bool) []member {
	var table []process
	if g.trees.others(since, g.entry) {
		table = g.trees.lookout.processes(since, g.trees.skip(g.entry, since == pidRange{}))
	}
	leader, ok := g.readLeader(exited)
	if !ok {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.reaped {
			return nil // it was ended before
		}
		// The zombie at least must be there. There may be no descriptors left to read the table with, and then
		// nothing is known of anybody.
		return []member{{process: process{identity: identity{pid: g.pid}}}}
	}
	self, pipe := os.Getpid(), g.output.number()
	table = append(slices.DeleteFunc(slices.Clone(table), func(p process) bool {
		return p.started < leader.started || p.pid == self || p.pid == g.pid
	}), leader)
	in := make(map[int]bool)
	for _, pid := range g.cgroup.pids() {
		in[pid] = true
	}
	for _, p := range table {
		if _, held := g.strays[p.identity]; held {
			in[p.pid] = true
		}
	}
	var escaped []int
	for grown, first := true, true; grown; first = false {
		grown = false
		for _, p := range table {
			switch {
			case in[p.pid]:
				continue
			case p.group == g.pid, p.session == g.pid, in[p.parent]:
			case first && !strangers[p.identity] && !g.trees.has(p.session) && g.hasMark(p, pipe):
				escaped = append(escaped, p.pid)
			default:
				strangers[p.identity] = true
				continue
			}
			in[p.pid], grown = true, true
		}
	}
	var members []member
	for _, p := range table {
		if in[p.pid] && !p.zombie {
			members = append(members, member{p, slices.Contains(escaped, p.pid)})
		}
	}
	return members
}

// readLeader is the leader's line of the table. What it says of a zombie is known from when it was not.
func (g *procGroup) readLeader(exited bool) (leader process, ok bool) {
	if !exited || g.watch.leader.started == 0 {
		g.watch.leader, ok = readProcess(g.pid)
		if !ok {
			return process{}, false
		}
	}
	g.watch.leader.zombie = g.watch.leader.zombie || exited
	return g.watch.leader, true
}

// hasMark reports whether a process carries the terminal's mark, or can write to its output.
func (g *procGroup) hasMark(p process, pipe uint64) bool {
	if g.cgroup != nil || p.zombie {
		return false // nothing leaves a cgroup, so there is no need to look
	}
	if slices.Contains(strings.Split(p.environ(terminalVariable), ":"), g.mark) {
		return true
	}
	// A child of this process that has not become its program yet has all our files open for a moment.
	return pipe != 0 && p.canWriteTo(pipe) && !(p.parent == os.Getpid() && p.executesSameAs(os.Getpid()))
}

// signalMember sends to a process that was found in the tree. Without pidfds, before Linux 5.3, it sends nothing.
func (g *procGroup) signalMember(p member, sig syscall.Signal) {
	pidfd, held := g.strays[p.identity]
	if !held {
		var err error
		if pidfd, err = g.open(p); err != nil {
			return
		}
		defer unix.Close(pidfd)
	}
	if unix.PidfdSendSignal(pidfd, sig, nil, 0) == nil && sig != unix.SIGKILL {
		unix.PidfdSendSignal(pidfd, unix.SIGCONT, nil, 0)
	}
}

// open returns a pidfd of a process that was found in the tree, if it still is what was found.
func (g *procGroup) open(found member) (int, error) {
	pidfd, err := unix.PidfdOpen(found.pid, 0)
	if err != nil {
		return -1, err
	}
	// The same parent, group, session and start: in the tree if what was found was, unless that was an escapee,
	// whose relations say nothing.
	now, _ := readProcess(found.pid)
	if now != found.process || found.escaped && !g.hasMark(now, g.output.number()) {
		unix.Close(pidfd)
		return -1, unix.ESRCH
	}
	return pidfd, nil
}

// strays are pidfds of processes that were found outside of the group. What was found once is of the tree for
// good, though what showed it may be gone next time: its parent, for one. It is used by end and close alone.
type strays map[identity]int

// hold remembers a process.
func (s *strays) hold(p member, g *procGroup) {
	if _, held := (*s)[p.identity]; held {
		return
	}
	if pidfd, err := g.open(p); err == nil {
		if *s == nil {
			*s = make(strays)
		}
		(*s)[p.identity] = pidfd
	}
}

func (s strays) close() {
	for _, pidfd := range s {
		unix.Close(pidfd)
	}
	clear(s)
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
func isReadable(fd int) bool {
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := retry(func() (int, error) { return unix.Poll(poll, 0) })
	return err == nil && n > 0
}

// awaitExit returns when the process has exited, or the context has ended.
func (p process) awaitExit(ctx context.Context) {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return
	}
	if err == nil && isReadable(fd) { // as most are who were just sent a signal
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
	defer pidfd.Close()
	defer context.AfterFunc(ctx, func() { pidfd.SetReadDeadline(time.Unix(1, 0)) })()
	raw, err := pidfd.SyscallConn()
	if err != nil {
		return
	}
	opened := false
	raw.Read(func(uintptr) (done bool) {
		if opened {
			return true // the poller says that it is readable: it has exited
		}
		opened = true
		return !p.isStill()
	})
}
