package proc

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/acpterm/acpterm/internal/procfs"
)

// Which processes are of a tree: the session of the leader; processes that left it and have the tree's mark in their
// environment or its output open for writing, which outlive a new session, a double fork and each other; the sessions
// that those began; and the children of all. With a cgroup, exactly those in it. A process that has cleared its
// environment, closed the output and left the session and its parent cannot be told from any other; only a cgroup holds it.
//
// A process that is of the tree and not of its session is in a session that was begun after the leader's: one can leave a
// session for a new one only. So most of the machine's processes are passed over by their session's number, at the
// cost of one system call that takes a fraction of a microsecond.

// member is a running process of a tree.
type member struct {
	procfs.Process
	handle procfs.Handle
	open   bool // handle is
	keep   bool // the tree keeps the handle
}

func (m *member) signal(sig syscall.Signal) {
	if m.open {
		send(sig, m.handle.Signal)
	}
}

// sight is what one look at a tree has found.
type sight struct {
	running  []*member
	doubtful []int // processes that were becoming another program, and could not be told
	complete bool  // no process can have been missed by being born or by ending during the look
	blind    bool  // the process table cannot be read: what runs besides the leader is not known
}

func (s *sight) empty() bool { return len(s.running) == 0 && len(s.doubtful) == 0 }

func (s *sight) pids() []int {
	pids := slices.Clone(s.doubtful)
	for _, m := range s.running {
		pids = append(pids, m.PID)
	}
	slices.Sort(pids)
	return pids
}

// close frees the handles that the tree does not keep.
func (s *sight) close() {
	for _, m := range s.running {
		if m.open && !m.keep {
			m.handle.Close()
		}
	}
}

// look finds the running processes of the tree. strangers are processes that an earlier look found not to be of it; the
// look adds to them.
func (t *Tree) look(strangers map[procfs.ID]bool) *sight {
	if t.cgroup != nil {
		return t.lookAtCgroup()
	}
	for {
		l := &looking{tree: t, strangers: strangers, own: t.unreaped(), owner: os.Geteuid()}
		l.look()
		if !l.own || t.unreaped() {
			return &l.sight
		}
		l.close() // the leader was reaped, and its number may have been given to another process
		t.leader = procfs.Process{}
	}
}

// looking is one look.
type looking struct {
	sight
	tree      *Tree
	strangers map[procfs.ID]bool
	own       bool // the leader's number is its own, so who is in the session with the number is of the tree
	owner     int  // the user that processes are looked at closely of
	ordered   bool // process numbers have not come round since the leader began
	missed    bool // a process ended before it could be looked at, and may have started another one
	others    []procfs.Process
}

func (l *looking) look() {
	t := l.tree
	if l.own {
		t.readLeader()
		l.examine(t.pid)
	}
	last, err := t.sup.counters.LastPID()
	l.ordered = err == nil && l.own && last >= t.pid && !t.forks.mayHaveWrapped()
	if l.ordered {
		l.complete = l.examineSince(t.pid+1, last)
	} else {
		l.examineAll(0, 0)
	}
	l.connect()
}

// examineSince looks at all processes with numbers from first to last, and then at those that began in the meantime, until
// none of them can have been started by one that it missed. Numbers are given out in order, so that a process is looked at
// after its parent, and one that is missed has ended.
func (l *looking) examineSince(first, last int) (complete bool) {
	for first <= last {
		l.missed = false
		if last-first < fewNumbers {
			for pid := first; pid <= last; pid++ {
				l.examine(pid)
			}
		} else {
			l.missed = true
			l.examineAll(first, last)
		}
		if !l.missed {
			return true
		}
		next, err := l.tree.sup.counters.LastPID()
		if err != nil || next < last { // come round
			return false
		}
		first, last = last+1, next
	}
	return true
}

// fewNumbers are so many that to ask for each is quicker than to list all processes.
const fewNumbers = 2000

// examineAll looks at all processes with numbers from first to last; 0: with any.
func (l *looking) examineAll(first, last int) {
	pids, err := procfs.PIDs()
	if err != nil {
		l.blind = true
		l.doubtful = append(l.doubtful, l.tree.pid)
		return
	}
	for _, pid := range pids {
		if last == 0 || first <= pid && pid <= last {
			l.examine(pid)
		}
	}
}

// examine looks at the process with a number, if there is one.
func (l *looking) examine(pid int) {
	t := l.tree
	session, err := unix.Getsid(pid)
	inSession := l.own && session == t.pid
	switch {
	case err == unix.ESRCH:
		l.missed = true
		return
	case pid == os.Getpid(), err != nil, session == 0: // 0: a session of another PID namespace, or a thread of the kernel's
		return
	case inSession:
	case l.ordered && session < t.pid, session != t.pid && t.sup.leads(session):
		return
	}
	handle, err := procfs.Open(pid)
	if err != nil {
		if session, err := unix.Getsid(pid); l.own && err == nil && session == t.pid && !(pid == t.pid && t.hasExited()) {
			// It is hidden (hidepid in man 5 proc), or this process has no descriptors left.
			l.running = append(l.running, &member{Process: procfs.Process{ID: procfs.ID{PID: pid}, Group: -1}})
			return
		}
		l.unseen(pid, err)
		return
	}
	p, err := handle.Process()
	switch {
	case err != nil:
		l.unseen(pid, err)
		handle.Close()
	case p.Exited:
		l.missed = true
		handle.Close()
	case l.own && p.Session == t.pid: // which the handle's process had after it was opened
		l.running = append(l.running, &member{Process: p, handle: handle, open: true})
	default:
		l.classify(p, handle)
	}
}

// unseen is for a process that cannot be looked at: it has ended by now or is a thread, or the system does not show it, or
// this process has no descriptors left.
func (l *looking) unseen(pid int, err error) {
	switch {
	case procfs.IsGone(err):
		l.missed = true
	case errors.Is(err, fs.ErrPermission): // another user's
	default:
		l.doubtful = append(l.doubtful, pid)
	}
}

// classify says of a process outside of the session whether it is of the tree, by itself.
func (l *looking) classify(p procfs.Process, handle procfs.Handle) {
	t := l.tree
	if kept, ok := t.escaped[p.ID]; ok {
		handle.Close()
		l.running = append(l.running, &member{Process: p, handle: kept, open: true, keep: true})
		return
	}
	if p.Started < t.leader.Started {
		handle.Close()
		return
	}
	if !l.strangers[p.ID] && handle.Owner() == l.owner {
		switch l.belongs(p, handle) {
		case yes:
			l.escape(p, handle)
			return
		case unknown:
			l.doubtful = append(l.doubtful, p.PID)
			handle.Close()
			return
		case gone:
			l.missed = true
			handle.Close()
			return
		}
		l.strangers[p.ID] = true
	}
	l.others = append(l.others, p)
	handle.Close()
}

// escape makes a process outside of the session one of the tree, for good.
func (l *looking) escape(p procfs.Process, handle procfs.Handle) {
	l.tree.escaped[p.ID] = handle
	l.running = append(l.running, &member{Process: p, handle: handle, open: true, keep: true})
}

type answer int

const (
	no answer = iota
	yes
	unknown
	gone // it has ended
)

// belongs says whether a process carries the tree's mark, or can write to its output.
func (l *looking) belongs(p procfs.Process, handle procfs.Handle) answer {
	t := l.tree
	if marked := hasMark(handle, t.mark); marked != no {
		return marked
	}
	if t.contained {
		return stillNo(handle)
	}
	switch writes, err := handle.CanWriteTo(t.pipe); {
	case err != nil && !procfs.IsGone(err):
		return answerTo(err)
	case !writes: // its files may be gone before it is
		return stillNo(handle)
	}
	// A child of this process that has not become its program yet has all files of this process open for a moment.
	mine, seen := handle.Executes()
	self, err := procfs.Open(os.Getpid())
	if err != nil {
		return unknown
	}
	defer self.Close()
	if own, ok := self.Executes(); p.Parent == os.Getpid() && seen && ok && mine == own {
		return no
	}
	return yes
}

// stillNo is no, unless the process exits: it may have lost already what would have shown that it is of the tree.
func stillNo(handle procfs.Handle) answer {
	now, err := handle.Process()
	switch {
	case err != nil:
		return answerTo(err)
	case now.Exited:
		return gone
	case now.Executing:
		return unknown
	}
	return no
}

// answerTo is what an error of a Handle's says of its process: an error that is about this process, such as EMFILE, says
// nothing.
func answerTo(err error) answer {
	switch {
	case procfs.IsGone(err):
		return gone
	case errors.Is(err, fs.ErrPermission):
		return no
	}
	return unknown
}

// hasMark says whether a process has a mark in its environment.
func hasMark(handle procfs.Handle, mark Mark) answer {
	value, known := variableOf(handle, mark.Name)
	if known == yes && !slices.Contains(strings.Split(value, ":"), mark.Value) {
		return no
	}
	return known
}

// variableOf is a variable of a process's environment, and whether it is known: yes, with an empty value if there is none; no, if
// it may not be seen; gone, if the process has ended; unknown, if it is becoming another program, time and again if it takes
// some tries to see. For a moment it has no environment then, and one that is being read ends early.
func variableOf(handle procfs.Handle, name string) (value string, known answer) {
	const tries = 4
	for range tries {
		value, size, err := handle.Variable(name)
		switch {
		case value != "":
			return value, yes
		case err != nil && !procfs.IsGone(err):
			return "", answerTo(err)
		}
		now, processErr := handle.Process()
		switch {
		case processErr != nil:
			return "", answerTo(processErr)
		case now.Exited:
			return "", gone
		case now.Executing, err != nil, size == 0 && now.MainExited: // or about to exit: its environment is gone first
			return "", unknown
		case size == now.Environ, now.MainExited:
			return "", yes // all of it was read
		}
	}
	return "", unknown
}

// connect adds the children of the tree's processes that are not of it by themselves, and the sessions that it began.
func (l *looking) connect() {
	for grown := true; grown; {
		grown = false
		for i, p := range l.others {
			if p.PID != 0 && l.related(p) {
				l.others[i] = procfs.Process{}
				grown = true
			}
		}
	}
}

// related adds a process to the tree if its parent is of it, or its session was begun by it.
func (l *looking) related(p procfs.Process) bool {
	for _, m := range l.running {
		isParent := m.PID == p.Parent
		if !isParent && !(m.keep && m.Session != 0 && m.Session == p.Session && l.beganSession(p.Session)) {
			continue
		}
		handle, err := procfs.Open(p.PID)
		if err != nil { // it is gone, and may have started another process
			l.complete = false
			return true
		}
		now, err := handle.Process()
		related, memberErr := m.handle.Process()
		// In this order: the member was there when the process's relation to it was seen.
		same := err == nil && now.ID == p.ID && now.Parent == p.Parent && now.Session == p.Session
		if !same || memberErr != nil || related.Exited || related.Session != m.Session {
			handle.Close()
			continue
		}
		l.escape(p, handle)
		return true
	}
	return false
}

// beganSession reports whether a session in which a process of the tree is was not begun by a process outside of it: its
// leader is of the tree, or gone.
func (l *looking) beganSession(session int) bool {
	if slices.ContainsFunc(l.running, func(m *member) bool { return m.PID == session }) {
		return true
	}
	leader, err := procfs.Read(session)
	return procfs.IsGone(err) || err == nil && leader.Exited
}

// readLeader reads the leader's line of the table, once, while its number is its own.
func (t *Tree) readLeader() {
	if t.leader.PID == 0 {
		t.leader, _ = procfs.Read(t.pid)
	}
}

// lookAtCgroup finds the running processes of a tree with a cgroup, which are those in it.
func (t *Tree) lookAtCgroup() *sight {
	s := &sight{complete: true}
	doubt := func(pid int) {
		s.complete = false
		s.doubtful = append(s.doubtful, pid)
	}
	before, err := t.cgroup.pids()
	if err != nil {
		doubt(t.pid)
	}
	for _, pid := range before {
		handle, err := procfs.Open(pid)
		switch {
		case err == nil:
			s.running = append(s.running, &member{handle: handle, open: true, Process: procfs.Process{ID: procfs.ID{PID: pid}}})
		case !procfs.IsGone(err):
			doubt(pid)
		}
	}
	now, err := t.cgroup.pids()
	if err != nil {
		doubt(t.pid)
	}
	s.running = slices.DeleteFunc(s.running, func(m *member) bool {
		p, err := m.handle.Process()
		if err != nil && !procfs.IsGone(err) {
			doubt(m.PID)
		}
		in := err == nil && !p.Exited && slices.Contains(now, m.PID)
		if !in {
			m.handle.Close()
		}
		m.Process = p
		return !in
	})
	return s
}
