package proc

// Ending a tree on Linux: which members get a signal, and when none is left.

import (
	"context"
	"slices"
	"syscall"
	"time"

	"github.com/acpterm/acpterm/internal/procfs"
)

// End sends a signal to the whole tree, and returns when none of it runs any more, or when ctx ends: then with the
// numbers of those that still run. The signal is sent at least once, also when ctx has ended before.
//
// The members are looked for before the first signal: what shows that a process is one may be gone after it.
//
// A step signals the members that exist when it begins, also those that a later scan finds. A member starts its
// clean-up after the signal, so only SIGKILL goes to later processes. A member outside the group gets its signal some
// microseconds after the first one. End takes a process that it starts in between for clean-up.
func (t *Tree) End(ctx context.Context, sig syscall.Signal) (left []int) {
	e := ending{sig: sig, alone: make(map[procfs.ID]bool)}
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
		if e.begun && (ctx.Err() != nil || s.err != nil && t.hasExited()) {
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
	sig   syscall.Signal
	begun bool
	since procfs.ID          // the newest right before the first signal
	alone map[procfs.ID]bool // sent the signal: true by itself, false with the group, which it may have left before
}

// signal sends the signal to the members that existed before it, once each. SIGKILL does no harm twice.
func (e *ending) signal(t *Tree, s *scan) {
	first := !e.begun
	if first {
		e.begun, e.since = true, t.sup.counters.Now()
		t.signalGroup(e.sig)
	}
	if e.sig == syscall.SIGKILL {
		t.cgroup.Kill()
	}
	for _, m := range s.members {
		inGroup := m.Group == t.pid
		alone, sent := e.alone[m.ID]
		switch {
		case first && inGroup:
			e.alone[m.ID] = false
		case e.sig == syscall.SIGKILL, !inGroup && !alone && (first || sent || !m.ID.After(e.since)):
			m.handle.Signal(e.sig)
			e.alone[m.ID] = true
		case sent && m.Stopped: // after it was sent the signal
			m.handle.Signal(syscall.SIGCONT)
		}
	}
}
