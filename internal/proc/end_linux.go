package proc

// Ending a tree on Linux: which members get a signal, and when none is left.

import (
	"context"
	"slices"
	"syscall"
	"time"

	"github.com/acpterm/acpterm/internal/procfs"
)

// End sends a signal to the whole tree, and to processes that join it later, and returns when none of it runs any more,
// or when ctx ends: then with the numbers of those that still run. The signal is sent at least once, also when ctx has
// ended before.
//
// The members are looked for before the first signal: what shows that a process is one may be gone after it.
func (t *Tree) End(ctx context.Context, sig syscall.Signal) (left []int) {
	e := ending{sig: sig, withGroup: make(map[procfs.ID]bool), alone: make(map[procfs.ID]bool)}
	nonMembers := make(map[procfs.ID]bool)
	empty := 0         // scans in a row that found nothing
	var busy time.Time // do not pause before this time
	for pause := stepPause; ; {
		s := t.scan(nonMembers)
		if empty++; !s.empty() {
			empty = 0
		}
		if empty > 0 && (s.complete || empty > 1) && t.hasExited() {
			return nil
		}
		if e.groupSent && (ctx.Err() != nil || s.err != nil && t.hasExited()) {
			s.close()
			left = s.pids()
			if !t.hasExited() && t.Unreaped() && !slices.Contains(left, t.pid) { // it runs where no scan sees it
				left = append(left, t.pid)
			}
			return left
		}
		e.signal(t, s)
		s.close()
		if busy.IsZero() && t.exitSeen() {
			busy = time.Now().Add(busyScans)
		}
		if time.Now().After(busy) {
			t.pause(ctx, pause)
			pause = min(2*pause, maxPause)
		}
	}
}

// busyScans is how long End does not pause between scans when the leader has exited: Go's timers may take a
// millisecond, and most trees take less to be gone.
const busyScans = time.Millisecond

// Gone reports whether the leader has exited and nothing else of the tree is found.
func (t *Tree) Gone() bool {
	if !t.exitSeen() {
		return false
	}
	s := t.scan(make(map[procfs.ID]bool))
	s.close()
	return s.empty() && s.complete
}

// ending is one End.
type ending struct {
	sig       syscall.Signal
	groupSent bool
	withGroup map[procfs.ID]bool // in the group before it was signalled; one that is outside later may have missed it
	alone     map[procfs.ID]bool // sent the signal one by one
}

// signal sends the signal to those members that were not sent it. SIGKILL does no harm twice.
func (e *ending) signal(t *Tree, s *scan) {
	toGroup := !e.groupSent
	if toGroup {
		t.signalGroup(e.sig)
		e.groupSent = true
	}
	if e.sig == syscall.SIGKILL {
		t.cgroup.Kill()
	}
	for _, m := range s.members {
		inGroup := m.Group == t.pid
		switch {
		case toGroup && inGroup:
			e.withGroup[m.ID] = true
		case e.sig == syscall.SIGKILL, !e.alone[m.ID] && !(inGroup && e.withGroup[m.ID]):
			m.handle.Signal(e.sig)
			e.alone[m.ID] = true
		case m.Stopped: // after it was sent the signal
			m.handle.Signal(syscall.SIGCONT)
		}
	}
}
