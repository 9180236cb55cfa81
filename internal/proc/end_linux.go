package proc

// This file ends a tree on Linux: it selects the members that get a signal, and detects when none is left.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/acpterm/acpterm/internal/procfs"
)

// end implements End. It returns when the tree has no running process, or, with the
// process IDs of running members, when ctx is done. A doubt names members exiting after SIGKILL, and possible members.
// If /proc is not usable, it says so, once the known members are gone.
//
// end looks for the members before the first signal, which may destroy the evidence that a process is a member.
//
// It looks for other programs' processes with the output open when nothing else is left, once later, and at ctx's end.
//
// A call signals the members that exist when it begins, even if only a later scan finds them. Members clean up after
// the signal, so only SIGKILL is sent to processes started later. A member outside the group gets its signal some
// microseconds after the group. If it starts a process in between, end assumes that the process is there to clean up.
func (t *Tree) end(ctx context.Context, sig syscall.Signal) (left []int, doubt error) {
	e := ending{sig: sig, together: make(map[int]bool), alone: make(map[procfs.ID]bool)}
	before := make(seen)
	empty := 0         // consecutive scans that found nothing
	var busy time.Time // do not pause before this time
	for pause, closely := exitPause, false; ; {
		s := t.scan(before, !e.begun, closely)
		if empty++; !s.empty() {
			empty = 0
		}
		if empty > 0 && (s.complete || empty > 1) && t.HasExited() {
			return nil, nil
		}
		done := e.begun && (ctx.Err() != nil || s.err != nil && len(s.members) == 0 && t.HasExited())
		e.signal(t, s)
		s.close()
		// A single empty scan may have missed a member between two generations, so another one follows.
		if done && empty != 1 && (closely || t.closely || !t.outputIsOpen()) {
			return t.remains(s)
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

// busyScans is how long End scans without a pause after the leader's exit: most trees are gone before a timer fires.
const busyScans = time.Millisecond

// remains returns the findings of the last scan of an End.
func (t *Tree) remains(s *scan) (left []int, doubt error) {
	var killed []int
	for _, m := range s.members {
		if m.killed {
			killed = append(killed, m.PID)
		} else {
			left = append(left, m.PID)
		}
	}
	if !t.HasExited() && t.Unreaped() && !slices.Contains(append(killed, left...), t.pid) { // no scan sees it
		left = append(left, t.pid)
	}
	doubt = s.err
	if doubt == nil && s.undecided != nil {
		doubt = fmt.Errorf("processes %v may belong to the tree", s.undecided)
	}
	return left, errors.Join(doubt, exiting(killed))
}

// Gone reports whether it is certain that no process of the tree runs. With Spec.KeepDetached, it makes no process a
// member for later: a detached one, about to close the output, would be terminated then.
func (t *Tree) Gone() (gone bool) {
	if !t.exitSeen() {
		return false
	}
	t.trace = newTrace(t.pid)
	s := t.scan(make(seen), false, false)
	s.close()
	if t.keeps {
		t.forgetEscaped()
	}
	if gone = s.empty() && s.complete; gone {
		t.trace.looks("nothing more: the tree is gone already")
	}
	return gone
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
		e.begun, e.since = true, t.sup.table.Now()
		t.trace.sends(e.sig, "the leader's process group", t.pid, t.signalGroup(e.sig))
	}
	if e.sig == syscall.SIGKILL && t.cgroup != nil {
		t.cgroup.Kill()
		t.trace.sends(e.sig, "all of the cgroup", 0, nil)
	}
	for _, m := range s.members {
		inGroup, alone := m.Group == t.pid, e.alone[m.ID]
		existed := first || e.together[m.PID] || !m.ID.After(e.since)
		switch {
		case first && inGroup:
			e.together[m.PID] = true
		case e.sig == syscall.SIGKILL, existed && !inGroup && !alone:
			err := m.handle.Signal(e.sig)
			t.trace.sends(e.sig, "the process alone", m.PID, err)
			m.killed = err == nil && e.sig == syscall.SIGKILL
			e.alone[m.ID] = true
		case (existed || alone) && m.Stopped: // after the signal was sent
			err := m.handle.Signal(syscall.SIGCONT)
			t.trace.sends(syscall.SIGCONT, "the process alone, which was stopped", m.PID, err)
		case !existed:
			t.trace.leaves(m.PID, "started after the signal, perhaps to clean up")
		}
	}
}
