package journal

// Ending the trees of dead hosts: SIGTERM to all processes, then SIGKILL to the remaining ones.

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/acpterm/acpterm/internal/cgroup"
	"github.com/acpterm/acpterm/internal/procfs"
)

const (
	grace    = 5 * time.Second  // from SIGTERM to SIGKILL
	killWait = 10 * time.Second // from SIGKILL until running processes count as survivors
)

// stepPause is the first pause between two scans of a step. It doubles with each scan, up to maxPause.
const (
	stepPause = 100 * time.Microsecond
	maxPause  = 20 * time.Millisecond
)

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

// endTrees ends trees concurrently. When ctx is done, it sends SIGKILL immediately. It does not use internal/life,
// which ends one tree: here each scan of the process table serves all trees. It does not end a tree that contains this
// process, and reports this process as the survivor.
func endTrees(ctx context.Context, trees []*tree) {
	var left []*ending
	var procs procfs.Table
	defer procs.Close()
	for _, t := range trees {
		e := &ending{tree: t, procs: &procs, members: make(map[procfs.ID]*member)}
		defer e.close()
		if t.err = e.openCgroup(); t.err == nil {
			left = append(left, e)
		}
	}
	left = scan(left)
	if ctx.Err() == nil {
		left = sendAll(ctx, left, syscall.SIGTERM, grace)
	}
	for _, e := range sendAll(context.Background(), left, syscall.SIGKILL, killWait) {
		e.remains()
	}
}

// remains reports the result of the last scan.
func (e *ending) remains() {
	e.err = e.unread
	var killed []int
	for _, p := range e.running {
		if m := e.members[p.ID]; m != nil && m.killed {
			killed = append(killed, p.PID)
		} else {
			e.Survivors = append(e.Survivors, p.PID)
		}
	}
	if len(e.undecided) > 0 {
		e.doubt = fmt.Errorf("processes %v may belong to the tree", e.undecided)
	}
	if killed != nil {
		e.doubt = errors.Join(e.doubt, fmt.Errorf("processes %v have been killed, and are exiting", killed))
	}
}

// sendAll sends a signal to the processes of trees until they are gone, atMost is over or ctx is done. It returns the
// remaining trees. Only SIGKILL goes to processes that start after the first signal: others may be a member's clean-up.
func sendAll(ctx context.Context, left []*ending, sig syscall.Signal, atMost time.Duration) []*ending {
	if len(left) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	since := left[0].procs.Now()
	for pause := stepPause; ; pause = min(2*pause, maxPause) {
		for _, e := range left {
			e.send(sig, since)
		}
		if len(left) == 0 || ctx.Err() != nil {
			return left
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		left = slices.DeleteFunc(scan(left), func(e *ending) bool { return e.empty > 1 })
	}
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
