package proc

// This file chooses the processes that a scan examines, on Linux: it rules out those that do not descend from a leader,
// by their IDs, sessions and parents. It remembers the results for all scans.

import (
	"math"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/acpterm/acpterm/internal/procfs"
)

// ids is what a Supervisor knows about process IDs. The system assigns them in order, until they wrap around.
type ids struct {
	wraps   int       // how often they may have wrapped around
	last    int       // the newest one when lookAtIDs was last called
	counted time.Time // when forks was read
	forks   uint64    // the number of processes and threads ever started on this machine
	few     bool      // there are so few IDs that they may wrap around within tooSoon
	first   int       // the ID of origins[0]
	origins []origin  // since the last wrap
}

// origin is a process from which another one descends, or in whose session it has been. The zero value means unknown.
type origin struct {
	pid  int
	tree bool // pid leads a tree
}

// excludes reports whether a process with this origin cannot descend from a leader. Leaders do not descend from each
// other, and no descendant is older than its leader.
func (o origin) excludes(leader int) bool {
	return o.pid != 0 && o.pid != leader && (o.tree || o.pid < leader)
}

// lookAtIDs returns the newest process ID, and how often IDs may have wrapped around. If two calls return the same
// number of wraps, all IDs assigned in between are in order.
func (s *Supervisor) lookAtIDs() (last, wraps int) {
	const tooSoon = 100 * time.Millisecond // too short to start thousands of processes; counting takes long
	s.mu.Lock()
	counted, before, few := s.ids.counted, s.ids.forks, s.ids.few
	s.mu.Unlock()
	now := time.Now()
	var forks, limit uint64
	counts := few || now.Sub(counted) > tooSoon
	if counts { // not under the lock, because another file system may be mounted over these files
		forks, limit = procfs.Forks(), procfs.Limit()
		s.table.LastPID() // opens its file
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := &s.ids
	last, err := s.table.LastPID()   // under the lock, so that the results are in order
	fell := counts && forks < before // the count could not be read, or the host was moved to another machine
	wrapped := err != nil || last < i.last || i.forks == 0 || fell
	if fell || counts && forks >= i.forks {
		wrapped = wrapped || forks-i.forks > enoughToWrap(limit)
		i.counted, i.forks, i.few = now, forks, limit < 1<<15
	}
	if i.last = last; wrapped {
		i.wraps++
		i.origins = nil
	}
	return last, i.wraps
}

// enoughToWrap returns a number of processes and threads that cannot use all IDs below limit.
func enoughToWrap(limit uint64) uint64 {
	const reserved = 300 // RESERVED_PIDS in the kernel's kernel/pid.c are not assigned again, nor are those in use
	return (max(limit, reserved) - reserved) / 4
}

func (s *Supervisor) originOf(pid int) (from origin) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := pid - s.ids.first; 0 <= n && n < len(s.ids.origins) {
		from = s.ids.origins[n]
	}
	return from
}

// setOrigin remembers the origin of a process, unless IDs have wrapped around since.
func (s *Supervisor) setOrigin(pid int, from origin, wraps int) {
	const most = 1 << 15
	s.mu.Lock()
	defer s.mu.Unlock()
	i := &s.ids
	if wraps != i.wraps {
		return
	}
	if n := pid - i.first; n < 0 || n >= most || len(i.origins) == 0 {
		i.first, i.origins = pid, nil
	}
	for i.first+len(i.origins) <= pid {
		i.origins = append(i.origins, origin{})
	}
	i.origins[pid-i.first] = from
}

// examineSince examines the processes with IDs from first to last, and then those begun since, until a missed process
// cannot have started any of them. IDs are assigned in order, so parents come first, and a missed process has ended.
func (s *scanner) examineSince(first, last int) (complete bool) {
	sup := s.tree.sup
	for first <= last {
		s.missed = false
		for pid, examined := first, 0; pid <= last; pid++ {
			if s.excludes(sup.originOf(pid)) {
				s.tree.trace.leaves(pid, "descends from another program, or from another tree")
				continue
			}
			if examined++; examined > fewNumbers {
				s.missed = true
				s.examineAll(pid, last)
				break
			}
			s.examine(pid)
		}
		if !s.missed {
			return true
		}
		next, wraps := sup.lookAtIDs()
		if wraps != s.tree.wraps {
			return false
		}
		first, last = last+1, next
	}
	return true
}

// examineAllAndNewer examines all processes, and then those begun since, like examineSince, although IDs wrap around:
// they are assigned in a circle, so the IDs assigned since then are known until one may have been assigned twice.
func (s *scanner) examineAllAndNewer() (complete bool) {
	table := &s.tree.sup.table
	last, err := table.LastPID()
	forks, limit := procfs.Forks(), procfs.Limit()
	s.examineAll(0, math.MaxInt)
	for s.missed = true; s.missed && s.empty(); {
		next, nextErr := table.LastPID()
		if err != nil || nextErr != nil || last == 0 || forks == 0 || procfs.Forks()-forks >= enoughToWrap(limit) {
			return false
		}
		count := (next - last + int(limit)) % int(limit)
		if s.missed = false; count > fewNumbers {
			return false
		}
		for range count {
			if last = (last + 1) % int(limit); last != s.session {
				s.examine(last)
			}
		}
	}
	return s.empty()
}

// fewNumbers is the number of IDs below which each is checked. That takes as long as listing some 700 processes.
const fewNumbers = 4000

// examineAll examines all processes with IDs from first to last.
func (s *scanner) examineAll(first, last int) {
	pids, err := s.tree.sup.table.PIDs()
	if err != nil && last == math.MaxInt {
		s.err = err
		s.undecided = append(s.undecided, s.tree.pid)
		return
	}
	for _, pid := range pids {
		if first <= pid && pid <= last && pid != s.session && (pid == s.tree.pid || !s.tree.sup.leads(pid)) {
			s.examine(pid)
		}
	}
	if err == nil && (!s.empty() || s.session == noSession || !s.tree.sup.table.Hides()) {
		return
	}
	// Nothing else is left, but /proc may not show all. All numbers take a second, so only a wrap justifies that.
	if _, unknown := s.tree.sup.table.LastPID(); unknown != nil {
		first, last = s.tree.pid, s.tree.pid+fewNumbers
	} else if last == math.MaxInt {
		first, last = 1, int(procfs.Limit())
	}
	for pid := first; pid <= last; pid++ {
		if pid != s.session {
			s.examine(pid)
		}
	}
}

func (s *scanner) excludes(from origin) bool { return !s.closely && from.excludes(s.tree.pid) }

// isOutside reports whether a process in this session cannot be a member.
func (s *scanner) isOutside(pid, session int) bool {
	t := s.tree
	from := t.sup.originOf(session)
	host, _ := unix.Getsid(0)
	switch {
	case s.oldest != 0 && s.excludes(from):
	case session < s.oldest, session == host:
		from = origin{pid: session}
	case session != t.pid && t.sup.leads(session):
		from = origin{pid: session, tree: true}
	default:
		return false
	}
	if s.oldest != 0 && session != host { // a new leader is in this process's session at first
		t.sup.setOrigin(pid, from, t.wraps)
	}
	return true
}

// isForeign reports whether a process's origin or parent shows that another program started it. The parent of a
// descendant is another descendant, the leader, or a process that may adopt it. CLONE_PARENT adds no other: it makes a
// process a sibling of the one that starts it.
func (s *scanner) isForeign(pid, parent int) bool {
	t := s.tree
	if s.oldest == 0 {
		return false
	}
	if t.sup.originOf(pid).excludes(t.pid) {
		return true
	}
	from := t.sup.originOf(parent)
	if from.pid == 0 && parent < s.oldest {
		from.pid = parent
	}
	if !from.excludes(t.pid) || s.mayAdopt(parent) {
		return false
	}
	t.sup.setOrigin(pid, from, t.wraps)
	if s.foreign[parent]++; s.foreign[parent] == fewChildren {
		for _, child := range procfs.Children(parent) {
			if child > t.pid {
				t.sup.setOrigin(child, from, t.wraps)
			}
		}
	}
	return true
}

// fewChildren is the number of children of one parent to examine before listing all of them.
const fewChildren = 8

// mayAdopt reports whether a process may be the parent of a member without being one. An orphan is adopted by an
// ancestor that is a subreaper, or by the init process of the PID namespace that its parent was in. This process may
// have lost ancestors since its first start, but cannot have got others.
func (s *scanner) mayAdopt(parent int) bool {
	adopts, known := s.adopts[parent]
	if !known {
		ancestors := s.tree.sup.table.Ancestors()
		adopts = parent <= 1 || ancestors == nil || slices.Contains(ancestors, parent) ||
			!s.tree.sup.table.SharesNamespace(parent)
		s.adopts[parent] = adopts
	}
	return adopts
}
