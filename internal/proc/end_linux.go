package proc

// This file ends a tree on Linux: it selects the members that get a signal, and detects when none is left.

import (
	"context"
	"slices"
	"syscall"
	"time"

	"github.com/acpterm/acpterm/internal/procfs"
)

// End sends a signal to the whole tree. It returns when the tree has no running process, or when ctx is done; it then
// returns the process IDs of the running members. The signal is sent at least once, even if ctx has already ended.
//
// End looks for the members before the first signal, which may destroy the evidence that a process is a member.
//
// Other programs' processes that have the output open are looked for once nothing else is left, once during a long
// end, and when ctx is done.
//
// A call signals the members that exist when it begins, even if only a later scan finds them. Members clean up after
// the signal, so only SIGKILL is sent to processes started later. A member outside the group gets its signal some
// microseconds after the group. If it starts a process in between, End assumes that the process is there to clean up.
func (t *Tree) End(ctx context.Context, sig syscall.Signal) (left []int) {
	e := ending{sig: sig, together: make(map[int]bool), alone: make(map[procfs.ID]bool)}
	before := make(seen)
	empty := 0         // consecutive scans that found nothing
	var busy time.Time // do not pause before this time
	for pause, closely := exitPause, false; ; {
		s := t.scan(before, !e.begun, closely)
		if empty++; !s.empty() {
			empty = 0
		}
		if empty > 0 && (s.complete || empty > 1) && t.hasExited() {
			return nil
		}
		done := e.begun && (ctx.Err() != nil || s.err != nil && t.hasExited())
		e.signal(t, s)
		s.close()
		if done && (closely || t.closely || !t.outputIsOpen()) {
			left = s.pids()
			if !t.hasExited() && t.Unreaped() && !slices.Contains(left, t.pid) { // it runs, but no scan sees it
				left = append(left, t.pid)
			}
			return left
		}
		closely = (done || pause < maxPause && 2*pause >= maxPause || closely && s.undecided != nil) && t.outputIsOpen()
		if busy.IsZero() && t.exitSeen() {
			busy, pause = time.Now().Add(busyScans), stepPause
		}
		if time.Now().After(busy) {
			t.pause(ctx, pause)
			pause = min(2*pause, maxPause)
		}
	}
}

// exitPause is the first pause before the leader has exited. Its exit ends the pause.
const exitPause = time.Millisecond

// busyScans is how long End scans without a pause after the leader has exited: Go's timers may take a millisecond, and
// most trees are gone sooner.
const busyScans = time.Millisecond

// Gone reports whether it is certain that no process of the tree runs.
func (t *Tree) Gone() bool {
	if !t.exitSeen() {
		return false
	}
	s := t.scan(make(seen), false, false)
	s.close()
	return s.empty() && s.complete
}

// ending is the state of one call of End.
type ending struct {
	sig      syscall.Signal
	begun    bool
	since    procfs.ID          // the newest process right before the first signal
	together map[int]bool       // signalled with the group, unless they left it right before
	alone    map[procfs.ID]bool // signalled directly
}

// signal sends the signal once to each member that existed before the first signal; SIGKILL perhaps twice.
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
		inGroup, alone := m.Group == t.pid, e.alone[m.ID]
		existed := first || e.together[m.PID] || !m.ID.After(e.since)
		switch {
		case first && inGroup:
			e.together[m.PID] = true
		case e.sig == syscall.SIGKILL, existed && !inGroup && !alone:
			m.handle.Signal(e.sig)
			e.alone[m.ID] = true
		case (existed || alone) && m.Stopped: // after the signal was sent
			m.handle.Signal(syscall.SIGCONT)
		}
	}
}
