package proc

// This file finds a tree's processes, on Linux.

import (
	"cmp"
	"errors"
	"io/fs"
	"math"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/acpterm/acpterm/internal/procfs"
)

// The members of a tree are: the processes of the leader's session; processes that left it and have the tree's mark in
// their environment, or its output pipe open for writing; the sessions begun by those; and the children of all these.
// The mark and the open pipe survive a new session, a double fork, and the loss of each other. If a process's parent
// shows that another program started it, the mark does not make it a member. With a cgroup, the members are exactly its
// processes. A process outside the session with another parent, a cleared environment and a closed output cannot be
// told from any other; only a cgroup has it. With Spec.KeepDetached, mark and parent count in the session only.
//
// A process leaves its session only by beginning a new one. So, until process IDs wrap around, a process in a session
// with a lower ID than the leader's cannot be a member, and one getsid, a fraction of a microsecond, rules it out.

// member is a running process of a tree.
type member struct {
	procfs.Process
	handle  procfs.Handle
	escaped bool // in Tree.escaped, with the handle
	killed  bool // by SIGKILL, but still exiting
}

// scan is the result of one pass over the processes, for one tree.
type scan struct {
	members   []*member
	undecided []int // possible members: in execve, or not opened because descriptors ran out
	complete  bool  // no member that began or ended during the scan was missed
	err       error // set if the process table cannot be read: members outside the session are not known then
}

func (s *scan) empty() bool { return len(s.members) == 0 && len(s.undecided) == 0 }

// close frees the handles not kept by the tree.
func (s *scan) close() {
	for _, m := range s.members {
		if !m.escaped {
			m.handle.Close()
		}
	}
}

// seen holds processes that earlier scans of the same call have examined: they do not carry the tree's mark or output.
type seen map[procfs.ID]bool

// scan finds the members of the tree, and updates before. If briefly is true and the leader runs, scan only reads the
// IDs of processes in its group, which may have exited.
func (t *finder) scan(before seen, briefly, closely bool) *scan {
	if t.cgroup != nil {
		return t.scanCgroup()
	}
	briefly = briefly && !t.exitSeen()
	for closely = closely || t.closely; ; {
		s := &scanner{
			tree: t, seen: before, briefly: briefly, closely: closely,
			adopts: make(map[int]bool), foreign: make(map[int]int),
		}
		if s.session = noSession; t.Unreaped() {
			s.session = t.pid
		}
		s.run()
		switch {
		case s.session != noSession && !t.Unreaped():
			s.close() // the leader was reaped, and its ID may have been reused
			t.leader = procfs.Process{}
		case briefly && len(s.others) > 0: // they may be children of members
			s.close()
			briefly = false
		case s.empty() && !closely && s.oldest != 0 && t.outputIsOpen():
			closely = true
		default:
			return &s.scan
		}
	}
}

type scanner struct {
	scan
	seen
	tree *finder

	briefly bool         // do not examine members of the leader's group
	closely bool         // also examine other programs' descendants, which may have been given the output
	adopts  map[int]bool // results of mayAdopt
	foreign map[int]int  // other programs' processes, and how many of their children isForeign has seen

	session  int              // the leader's session while its ID is known to be its own, or noSession
	oldest   int              // sessions with lower IDs began earlier; 0 if IDs may have wrapped around
	missed   bool             // a process ended before it was examined, and may have started another
	doubtful bool             // a process in execve was taken for a stranger
	others   []procfs.Process // no members, unless a member is their parent or began their session
}

// noSession is not the ID of any session. It is not -1, which /proc shows for a process being reaped.
const noSession = -2

func (s *scanner) run() {
	t := s.tree
	if s.session != noSession && !t.exitSeen() {
		s.examine(t.pid)
	}
	if last, wraps := t.sup.lookAtIDs(); s.session != noSession && wraps == t.wraps && last >= t.pid {
		s.oldest = t.pid
		t.trace.looks("processes with higher IDs than the leader's: others are older than the tree")
		s.complete = s.examineSince(t.pid+1, last)
	} else {
		t.trace.looks("all processes: the leader is reaped, or process IDs may have wrapped around")
		s.complete = s.examineAllAndNewer() && !s.doubtful
	}
	s.addRelatives()
}

// examine classifies the process with this ID, if it exists.
func (s *scanner) examine(pid int) {
	t := s.tree
	session, err := unix.Getsid(pid)
	switch {
	case err == unix.ESRCH: // it has ended, or its fork is under way
		s.missed = true
		return
	case err != nil, session == 0, pid == os.Getpid(): // hidden in another PID namespace, or a kernel thread
		return
	case session != s.session:
		if why := s.excluded(pid, session); why != "" {
			t.trace.leaves(pid, why)
			return
		}
	case s.briefly:
		if group, err := unix.Getpgid(pid); err == nil && group == t.pid {
			p := procfs.Process{ID: procfs.ID{PID: pid}, Group: group, Session: session}
			t.trace.found(pid, 0, "in the leader's process group")
			s.members = append(s.members, &member{Process: p, handle: procfs.NoHandle()})
			return
		}
	}
	handle, err := t.sup.table.Open(pid)
	if err != nil {
		s.examineUnread(pid, err)
		return
	}
	p, err := handle.Process()
	switch {
	case err != nil:
		s.note(pid, answerOf(err))
		handle.Close()
	case p.Exited:
		t.trace.leaves(pid, "has exited, and is not reaped yet")
		s.missed = true
		handle.Close()
	case p.Session == s.session: // the handle's process had it after it was opened
		t.trace.found(pid, p.Started, "in the leader's session")
		s.members = append(s.members, &member{Process: p, handle: handle})
	default:
		s.classify(p, handle)
	}
}

// excluded returns why a process in another session cannot be a member, or "" if it can be one.
func (s *scanner) excluded(pid, session int) string {
	switch {
	case session == pid && procfs.SharesMemory(pid): // a command shares this process's memory until its execve
		return "is being started"
	case s.isOutside(pid, session):
		return "in a session that is older than the tree, or another tree's"
	case s.oldest != 0 && !s.closely && s.isForeign(pid, procfs.Parent(pid)):
		return "another program started it"
	}
	return ""
}

// examineUnread classifies a process that /proc does not show: it is hidden (hidepid in man 5 proc), /proc is that of
// another PID namespace, or this process has no descriptors left.
func (s *scanner) examineUnread(pid int, err error) {
	handle, isThread := procfs.OpenPidfd(pid) // before getsid: the process may end, and its number be reused
	session, sessionErr := unix.Getsid(pid)
	switch {
	case sessionErr == unix.ESRCH, handle.Exited(), pid == s.tree.pid && s.tree.HasExited():
		s.missed = true
	case isThread:
	case sessionErr == nil && session == s.session:
		group, _ := unix.Getpgid(pid)
		p := procfs.Process{ID: procfs.ID{PID: pid, Started: math.MaxUint64}, Group: group, Session: session}
		s.tree.trace.found(pid, 0, "in the leader's session, although /proc does not show it")
		s.members = append(s.members, &member{Process: p, handle: handle})
		return
	case errors.Is(err, procfs.ErrUnusable):
		s.err = err
		fallthrough
	default:
		s.note(pid, answerOf(err))
	}
	handle.Close()
}

// note records an answer about a process that is not known to be a member.
func (s *scanner) note(pid int, is answer) {
	switch is {
	case unknown:
		s.tree.trace.leaves(pid, "cannot be examined, and may be a member")
		s.undecided = append(s.undecided, pid)
	case gone:
		s.missed = true
	}
}

// classify classifies a process outside the session, by its own properties.
func (s *scanner) classify(p procfs.Process, handle procfs.Handle) {
	t := s.tree
	if kept, ok := t.escaped[p.ID]; ok {
		handle.Close()
		t.trace.found(p.PID, p.Started, "outside the leader's session, found by an earlier scan")
		s.members = append(s.members, &member{Process: p, handle: kept, escaped: true})
		return
	}
	if s.oldest == 0 && s.session != noSession {
		t.readLeader()
	}
	foreign := s.isForeign(p.PID, p.Parent)
	if (!foreign || s.closely) && (s.oldest != 0 || p.Started >= t.leader.Started) {
		is := no
		if !s.seen[p.ID] && handle.Owner() == os.Geteuid() {
			is = t.isMember(p, handle, foreign)
			s.seen[p.ID] = is == no
			if is == unknown && (p.Parent == os.Getpid() && t.sup.forked(p.PID) || s.othersLead(handle, p.Session)) {
				is, s.doubtful = no, true // a command being started, or a child of an unrelated process
			}
		}
		switch is {
		case yes:
			t.closely = t.closely || foreign
			s.addEscaped(p, handle)
			return
		case no, unknown:
			t.trace.leaves(p.PID, "is another user's, or has neither the mark nor the output")
			s.others = append(s.others, p)
		}
		s.note(p.PID, is)
	} else {
		t.trace.leaves(p.PID, "was started by another program, or before the tree")
	}
	handle.Close()
}

// othersLead reports whether the leader of this session of the handle's process is outside the tree.
func (s *scanner) othersLead(handle procfs.Handle, session int) bool {
	leader, err := s.tree.sup.table.Read(session)
	now, nowErr := handle.Process() // while it is in the session, the leader's ID is not reused
	return err == nil && nowErr == nil && now.Session == session &&
		(s.seen[leader.ID] || leader.Started < s.tree.leader.Started)
}

// addEscaped permanently adds a process outside the session as a member.
func (s *scanner) addEscaped(p procfs.Process, handle procfs.Handle) {
	s.tree.escaped[p.ID] = handle
	s.members = append(s.members, &member{Process: p, handle: handle, escaped: true})
}

type answer int

const (
	no answer = iota
	yes
	unknown
	gone // the process has ended
)

// isMember decides whether a process carries the tree's mark, or can write to its output. Having the terminal open is
// not enough: programs pass theirs to servers that the command did not start (tmux attach).
func (t *finder) isMember(p procfs.Process, handle procfs.Handle, foreign bool) answer {
	marks, err := handle.Variable(t.mark.Name)
	marked := slices.Contains(marks, t.mark.Value)
	detached := foreign || t.keeps && p.Session != t.pid // deliberately detached processes have the mark, too
	switch {
	case !detached && err != nil && !errors.Is(err, fs.ErrPermission):
		return answerOf(err)
	case !detached && marked:
		t.trace.found(p.PID, p.Started, "has the tree's mark in its environment")
		return yes
	case t.contained, t.pty != nil && !marked, t.pty == nil && !t.outputIsOpen():
		if detached || len(marks) > 0 {
			return no
		}
		return noUnlessExiting(handle)
	case p.Parent == os.Getpid() && (p.Forked || p.Executing) && t.executesSame(handle):
		return no // it is being started; until execve it has all of this process's files
	}
	switch writes, err := handle.CanWriteTo(t.writing); {
	case err != nil && !procfs.IsGone(err):
		return answerOf(err)
	case !writes: // its files may be gone before the process is
		return noUnlessExiting(handle)
	}
	t.trace.found(p.PID, p.Started, "can write to the tree's output")
	return yes
}

// executesSame reports whether a process runs the same program file as this one.
func (t *Tree) executesSame(handle procfs.Handle) bool {
	self, err := t.sup.table.Open(os.Getpid())
	if err != nil {
		return false
	}
	defer self.Close()
	own, ok := self.Executes()
	runs, seen := handle.Executes()
	return ok && seen && runs == own
}

// noUnlessExiting returns no, unless the process is exiting: the evidence that it is a member may then be gone already.
func noUnlessExiting(handle procfs.Handle) answer {
	now, err := handle.Process()
	switch {
	case err != nil:
		return answerOf(err)
	case now.Exited:
		return gone
	case now.Executing:
		return unknown
	}
	return no
}

// answerOf returns the answer implied by a Handle's error. ErrExecuting and errors such as EMFILE leave it unknown.
func answerOf(err error) answer {
	switch {
	case procfs.IsGone(err):
		return gone
	case errors.Is(err, fs.ErrPermission):
		return no
	}
	return unknown
}

// addRelatives adds the children of members, and the sessions begun by members.
func (s *scanner) addRelatives() {
	for grown := true; grown; {
		grown = false
		s.others = slices.DeleteFunc(s.others, func(p procfs.Process) bool {
			added := s.addRelative(p)
			grown = grown || added
			return added
		})
	}
}

// addRelative adds a process if a member is its parent or began its session.
func (s *scanner) addRelative(p procfs.Process) bool {
	for _, m := range s.members {
		isParent := m.PID == p.Parent && !(s.tree.keeps && p.Session != m.Session)
		if !isParent && !(m.escaped && m.Session != 0 && m.Session == p.Session && s.beganSession(p.Session)) {
			continue
		}
		handle, err := s.tree.sup.table.Open(p.PID)
		if err != nil { // it has ended, and may have started another process
			s.complete = false
			return true
		}
		now, err := handle.Process()
		related, memberErr := m.handle.Process()
		// The order matters: it shows that the member still existed when the process's relation to it was seen.
		same := err == nil && now.ID == p.ID && now.Parent == p.Parent && now.Session == p.Session
		if !same || memberErr != nil || related.Exited || related.Session != m.Session {
			handle.Close()
			continue
		}
		why := "in a session that a member began"
		if isParent {
			why = "the child of a member"
		}
		s.tree.trace.found(p.PID, p.Started, why)
		s.addEscaped(p, handle)
		s.undecided = slices.DeleteFunc(s.undecided, func(pid int) bool { return pid == p.PID })
		return true
	}
	return false
}

// beganSession reports whether a member began a member's session. A leader that has ended counts as a member.
func (s *scanner) beganSession(session int) bool {
	if slices.ContainsFunc(s.members, func(m *member) bool { return m.PID == session }) {
		return true
	}
	leader, err := s.tree.sup.table.Read(session)
	return procfs.IsGone(err) || err == nil && leader.Exited
}

// readLeader reads the leader's entry in the process table, once, while its ID is its own.
func (t *finder) readLeader() {
	if t.leader.PID == 0 {
		t.leader, _ = t.sup.table.Read(t.pid)
	}
}

// scanCgroup finds the members of a tree with a cgroup, which are the processes in it.
func (t *finder) scanCgroup() *scan {
	s := &scan{complete: true}
	before, beforeErr := t.cgroup.PIDs()
	for _, pid := range before {
		if handle, err := t.sup.table.Open(pid); !procfs.IsGone(err) { // after other errors, the handle's methods fail
			t.trace.found(pid, 0, "in the cgroup")
			s.members = append(s.members, &member{Process: procfs.Process{ID: procfs.ID{PID: pid}}, handle: handle})
		}
	}
	now, err := t.cgroup.PIDs()
	if cmp.Or(beforeErr, err) != nil {
		s.complete, s.undecided = false, []int{t.pid}
	}
	s.members = slices.DeleteFunc(s.members, func(m *member) bool {
		p, err := m.handle.Process()
		if err == nil {
			m.Process = p
		}
		gone := procfs.IsGone(err) || p.Exited || !slices.Contains(now, m.PID)
		if gone {
			m.handle.Close()
		}
		return gone
	})
	return s
}
