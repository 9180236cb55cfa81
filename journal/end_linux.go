package journal

// The end of trees whose host died: SIGTERM to all of them, and SIGKILL to those that are left after a while.

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/acpterm/acpterm/internal/cgroup"
	"github.com/acpterm/acpterm/internal/procfs"
)

const (
	grace    = 5 * time.Second  // from SIGTERM to SIGKILL
	killWait = 10 * time.Second // from SIGKILL until what still runs counts as a survivor
)

// stepPause is how long a step waits at first before it looks again at what runs, and maxPause is the longest that this
// grows to.
const (
	stepPause = 100 * time.Microsecond
	maxPause  = 20 * time.Millisecond
)

// ending is a tree that is being ended.
type ending struct {
	*tree
	cgroup  *cgroup.Cgroup
	members map[procfs.ID]*member // every one that was found so far

	// Of the last scan.
	running   []procfs.Process // members
	undecided []int            // may be members: their marks cannot be read, or they ended and may have started another
	unread    error            // why the cgroup could not be read as a whole
	empty     int              // so many scans in a row have found nothing
}

// member is a process of a tree, with a handle that means it whatever becomes of its number.
type member struct {
	procfs.Handle
	sent syscall.Signal // the last signal that it was sent; 0: none
}

// endTrees ends trees concurrently; when ctx ends, SIGKILL comes at once. It does not use internal/life, which ends one
// tree: here each scan of the process table serves all trees. A tree that this process is in is left alone,
// and its Survivors are this process.
func endTrees(ctx context.Context, trees []*tree) {
	var left []*ending
	for _, t := range trees {
		e := &ending{tree: t, members: make(map[procfs.ID]*member)}
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
		e.err = e.unread
		e.Survivors = append(e.Survivors, e.undecided...)
		for _, p := range e.running {
			e.Survivors = append(e.Survivors, p.PID)
		}
	}
}

// sendAll sends a signal to all of some trees, until they are gone, some time is over or ctx ends. It returns the trees
// that are left. Only SIGKILL goes to processes that begin after the first signal: others may be a member's clean-up.
func sendAll(ctx context.Context, left []*ending, sig syscall.Signal, atMost time.Duration) []*ending {
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	var counters procfs.Counters
	defer counters.Close()
	since := counters.Now()
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

// send sends a signal, once each, to the members that began before or with a process. SIGKILL goes to all of them.
func (e *ending) send(sig syscall.Signal, last procfs.ID) {
	if sig == syscall.SIGKILL {
		e.cgroup.Kill()
	}
	for _, p := range e.running {
		m := e.members[p.ID]
		switch {
		case m == nil, sig != syscall.SIGKILL && p.ID.After(last): // the former could not be held
		case m.sent != sig:
			m.Signal(sig)
			m.sent = sig
		case p.Stopped: // after it was sent the signal
			m.Signal(syscall.SIGCONT)
		}
	}
}

// openCgroup opens the tree's cgroup, if it had one that is still there.
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

// close frees what the tree has open, and says what was ended.
func (e *ending) close() {
	e.cgroup.Remove()
	for id, m := range e.members {
		m.Close()
		if !slices.ContainsFunc(e.running, func(p procfs.Process) bool { return p.ID == id }) {
			e.Ended = append(e.Ended, id.PID)
		}
	}
}
