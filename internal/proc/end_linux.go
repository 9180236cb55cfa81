package proc

import (
	"context"
	"slices"
	"syscall"

	"github.com/acpterm/acpterm/internal/procfs"
)

// End sends a signal to the whole tree, and to processes that join it later, and returns when none of it runs any more,
// or when ctx ends: then with the numbers of those that still run. The signal is sent at least once, also when ctx has
// ended before.
//
// The processes are looked for before the first signal: what shows that one belongs to the tree may be gone after it.
func (t *Tree) End(ctx context.Context, sig syscall.Signal) (left []int) {
	e := ending{sig: sig, covered: make(map[procfs.ID]bool), signalled: make(map[procfs.ID]bool)}
	strangers := make(map[procfs.ID]bool)
	empty := 0 // looks in a row that found nothing
	for pause := stepPause; ; pause = min(2*pause, maxPause) {
		s := t.look(strangers)
		if empty++; !s.empty() {
			empty = 0
		}
		if empty > 0 && (s.complete || empty > 1) && t.hasExited() {
			return nil
		}
		if e.sent && (ctx.Err() != nil || s.blind && t.hasExited()) {
			s.close()
			left = s.pids()
			if !t.hasExited() && t.unreaped() && !slices.Contains(left, t.pid) { // it runs where no look sees it
				left = append(left, t.pid)
			}
			return left
		}
		e.signal(t, s)
		s.close()
		t.pause(ctx, pause)
	}
}

// ending is one End.
type ending struct {
	sig       syscall.Signal
	sent      bool               // to the group
	covered   map[procfs.ID]bool // was in the group when it was sent to it, but may have left it right before
	signalled map[procfs.ID]bool // one by one
}

// signal sends the signal to those members that were not sent it. SIGKILL does no harm twice.
func (e *ending) signal(t *Tree, s *sight) {
	toGroup := !e.sent
	if toGroup {
		t.signalGroup(e.sig)
		e.sent = true
	}
	if e.sig == syscall.SIGKILL {
		t.cgroup.kill()
	}
	for _, m := range s.running {
		inGroup := m.Group == t.pid
		switch {
		case toGroup && inGroup:
			e.covered[m.ID] = true
		case e.sig == syscall.SIGKILL, !e.signalled[m.ID] && !(inGroup && e.covered[m.ID]):
			m.signal(e.sig)
			e.signalled[m.ID] = true
		case m.Stopped: // after it was sent the signal
			m.signal(syscall.SIGCONT)
		}
	}
}
