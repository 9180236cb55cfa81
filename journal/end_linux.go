package journal

// Ending the trees of dead hosts: SIGTERM to all processes, then SIGKILL to the remaining ones.
//
// internal/proc cannot find these trees. It relies on an unreaped leader, whose ID pins the session and rules out older
// processes, and on a tree without this process and its session. Here the leader is gone, this process may be in the
// tree, the cgroup only adds to the other evidence, and one scan of the process table must serve the trees of all
// records, because a host may leave hundreds.

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/acpterm/acpterm/internal/cgroup"
	"github.com/acpterm/acpterm/internal/latch"
	"github.com/acpterm/acpterm/internal/life"
	"github.com/acpterm/acpterm/internal/procfs"
)

// stepPause is the first pause between two scans of a step. It doubles with each scan, up to maxPause.
const (
	stepPause = 100 * time.Microsecond
	maxPause  = 20 * time.Millisecond
)

// forest is a set of trees that ends like one tree: it is a life.Tree. Each scan serves all of them.
type forest struct {
	procs procfs.Table
	left  []*ending // the trees still to end; a scan drops the others
}

// ending is the state of ending a tree.
type ending struct {
	*tree
	procs   *procfs.Table
	cgroup  *cgroup.Cgroup
	members map[procfs.ID]*member // all found so far

	// Results of the last scan:
	running   []procfs.Process // members
	undecided []int            // may be members: their marks cannot be read, or they ended and may have started others
	unread    error            // why the cgroup could not be read completely
	empty     int              // the number of scans in a row that found nothing
}

// member is a process of a tree. Its handle stays valid if the number is reused.
type member struct {
	procfs.Handle
	sent   syscall.Signal // the last signal sent, or 0
	killed bool           // by SIGKILL, but still exiting
}

// endTrees ends trees concurrently. When ctx is done, it sends SIGKILL immediately. It does not end a tree containing
// this process, and reports this process as the survivor.
func endTrees(ctx context.Context, trees []*tree) {
	var f forest
	defer f.procs.Close()
	for _, t := range trees {
		e := &ending{tree: t, procs: &f.procs, members: make(map[procfs.ID]*member)}
		defer e.close()
		if t.err = e.openCgroup(); t.err == nil {
			f.left = append(f.left, e)
		}
	}
	var forced latch.Latch
	if ctx.Err() != nil {
		forced.Set() // AfterFunc would do so a moment later
	}
	defer context.AfterFunc(ctx, forced.Set)()
	life.End(&f, &forced, life.Step{Signal: syscall.SIGTERM})
	for _, e := range f.left {
		e.err = e.unread
		e.Survivors, e.doubt = e.remains()
	}
}

// Gone looks for the processes, and reports whether no tree is left.
func (f *forest) Gone() bool {
	f.scan()
	return len(f.left) == 0
}

// End sends a signal to the processes of the trees until all are gone, or ctx is done. It begins with the processes of
// the last scan. Only SIGKILL goes to processes that start after the first signal: others may be a member's clean-up.
func (f *forest) End(ctx context.Context, sig syscall.Signal) (left []int, doubt error) {
	since := f.procs.Now()
	for pause := stepPause; ; pause = min(2*pause, maxPause) {
		for _, e := range f.left {
			e.send(sig, since)
		}
		if len(f.left) == 0 || ctx.Err() != nil {
			break
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		f.scan()
	}
	for _, e := range f.left {
		running, others := e.remains()
		left, doubt = append(left, running...), errors.Join(doubt, others, e.unread)
	}
	return left, doubt
}

// remains returns the result of the last scan, like Tree.End of package life.
func (e *ending) remains() (left []int, doubt error) {
	var killed []int
	for _, p := range e.running {
		if m := e.members[p.ID]; m != nil && m.killed {
			killed = append(killed, p.PID)
		} else {
			left = append(left, p.PID)
		}
	}
	if len(e.undecided) > 0 {
		doubt = fmt.Errorf("processes %v may belong to the tree", e.undecided)
	}
	if killed != nil {
		doubt = errors.Join(doubt, fmt.Errorf("processes %v have been killed, and are exiting", killed))
	}
	return left, doubt
}

// send sends a signal, once each, to the members that started no later than last. SIGKILL goes to all members.
func (e *ending) send(sig syscall.Signal, last procfs.ID) {
	if sig == syscall.SIGKILL {
		e.cgroup.Kill()
	}
	for _, p := range e.running {
		m := e.members[p.ID]
		switch {
		case m == nil, sig != syscall.SIGKILL && p.ID.After(last): // a nil member could not be opened
		case m.sent != sig:
			m.killed = m.Signal(sig) == nil && sig == syscall.SIGKILL
			m.sent = sig
		case p.Stopped: // after the signal
			m.Signal(syscall.SIGCONT)
		}
	}
}

// openCgroup opens the tree's cgroup, if it had one and the cgroup still exists.
func (e *ending) openCgroup() (err error) {
	switch {
	case e.cgroupDir == "":
	case filepath.Base(e.cgroupDir) != string(e.TerminalID):
		err = errors.New(e.cgroupDir + " is not the terminal's cgroup")
	default:
		e.cgroup, err = cgroup.Open(e.cgroupDir)
	}
	return err
}

// close closes the tree's handles, and sets Ended.
func (e *ending) close() {
	e.cgroup.Remove()
	for id, m := range e.members {
		m.Close()
		if !slices.ContainsFunc(e.running, func(p procfs.Process) bool { return p.ID == id }) {
			e.Ended = append(e.Ended, id.PID)
		}
	}
}
