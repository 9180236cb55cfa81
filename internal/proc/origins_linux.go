package proc

// This file remembers where processes come from, on Linux. Later scans, for the same tree or another, then need not
// examine them again.

import (
	"sync"

	"github.com/acpterm/acpterm/internal/procfs"
)

// origin is a process from which another process descends, or whose session that process was in. Neither relation
// changes later. The zero value means that no origin is known.
type origin struct {
	pid  int
	tree bool // it is a registered leader
}

// excludes reports whether a process with this origin cannot descend from a leader: leaders do not descend from each
// other, and a descendant of this leader is never in an older session.
func (o origin) excludes(leader int) bool {
	return o.pid != 0 && o.pid != leader && (o.tree || o.pid < leader)
}

// origins holds the origins of processes, by ID, until IDs wrap around.
type origins struct {
	first  int
	known  []origin  // of the IDs from first on
	clears int       // the number of calls of clear
	last   int       // the last assigned ID at some time, or 0
	count  forkCount // from before that time
}

// maxOrigins is the maximum length of origins.known.
const maxOrigins = 1 << 15

func (o *origins) clear() { o.known, o.clears = o.known[:0], o.clears+1 }

func (o *origins) at(pid int) origin {
	if i := pid - o.first; 0 <= i && i < len(o.known) {
		return o.known[i]
	}
	return origin{}
}

func (o *origins) set(pid int, from origin) {
	if len(o.known) > 0 && pid-o.first >= maxOrigins {
		o.clear()
	}
	if len(o.known) == 0 {
		o.first = pid
	}
	i := pid - o.first
	if i < 0 {
		return
	}
	if n := i + 1 - len(o.known); n > 0 {
		o.known = append(o.known, make([]origin, n)...)
	}
	o.known[i] = from
}

// started adds a leader. Other processes are added once their IDs are at most last: those will not be assigned again
// before IDs wrap around.
func (o *origins) started(t *Tree) {
	if o.last == 0 {
		o.last, o.count = t.pid, t.forks
	}
	o.set(t.pid, origin{pid: t.pid, tree: true})
}

// reaped keeps the origin of a leader that this package has reaped if its ID will not be assigned again so soon.
func (o *origins) reaped(pid int) {
	if pid > o.last {
		o.forget(pid)
	}
}

func (o *origins) forget(pid int) {
	if o.at(pid) != (origin{}) {
		o.set(pid, origin{})
	}
}

// originOf returns the known origin of a process.
func (s *Supervisor) originOf(pid int) origin {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.origins.at(pid)
}

// setOrigin sets the origin of a process, unless the origins have been cleared since.
func (s *Supervisor) setOrigin(pid int, from origin, clears int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.origins.clears == clears {
		s.origins.set(pid, from)
	}
}

// candidates returns the IDs from first to last whose origins are not excluded, but at most atMost.
func (s *Supervisor) candidates(first, last, atMost int, excluded func(origin) bool) (pids []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for pid := first; pid <= last && len(pids) < atMost; pid++ {
		if !excluded(s.origins.at(pid)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// forgetOrigin forgets the origin of a leader that another part of the program has reaped.
func (s *Supervisor) forgetOrigin(pid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.origins.forget(pid)
}

// lastPID returns the last assigned process ID, and the clears of the origins. It clears them if IDs may have wrapped
// around since the last call.
func (s *Supervisor) lastPID() (last, clears int, err error) {
	s.mu.Lock()
	count := s.origins.count
	s.mu.Unlock()
	wrapped := s.mayHaveWrapped(count, count.at)
	s.mu.Lock()
	defer s.mu.Unlock()
	last, err = s.counters.LastPID() // under the lock, so that these numbers are in order
	if wrapped || err != nil || last < s.origins.last {
		s.origins.clear()
	}
	s.origins.last, s.origins.count = last, s.counts
	return last, s.origins.clears, err
}

// family is this process and its ancestors.
type family struct {
	once sync.Once
	pids []int
}

// ancestors returns this process and its ancestors, or nil if they are unknown. Later, this process can lose some of
// them, but not get others: a process is only adopted by one of its ancestors.
func (s *Supervisor) ancestors() []int {
	s.family.once.Do(func() { s.family.pids = procfs.Ancestors() })
	return s.family.pids
}
