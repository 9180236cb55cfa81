package proc

// This file implements the threads that start commands, and the registry of leaders, on Linux.

import (
	"context"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/acpterm/acpterm/internal/procfs"
)

// Supervisor starts trees and keeps their shared state. The zero value is ready to use, and holds no resources before
// the first Start. Its methods are safe for concurrent use, but Close must be the last call, after that of every Tree.
//
// Up to two goroutines, each locked to its thread, make all starts: a fork waits until the child executes its program.
// The system kills a leader when the thread that forked it ends (PR_SET_PDEATHSIG in man 2 prctl), and that must happen
// when the host dies, and only then. If a start hangs, as on an unresponsive network file system, another goroutine
// takes over; the first one ends once all leaders it forked are gone. A start in the same microseconds may hang, too:
// the hanging child then also has that start's status pipe (in package syscall) open.
type Supervisor struct {
	busy    sync.WaitGroup // the goroutines of starters and trees
	exits   exits
	lookout lookout
	table   procfs.Table

	mu       sync.Mutex
	jobs     []func(*starter) // waiting starts
	starters []*starter       // running starters
	closed   bool
	trees    map[int]*Tree // by the leader's process ID, until Close
	ids      ids
}

// starter is a goroutine that starts trees on its own thread.
type starter struct {
	changed sync.Cond // with Supervisor.mu; a job is waiting, or a leader is gone

	// Guarded by Supervisor.mu.
	thread  int  // its thread ID; 0 until it runs
	idle    bool // it does not run a job
	slow    bool // another starter has taken over
	leaders int  // unreaped leaders that it forked
}

// maxStarters is the number of starters that make starts. More do not start more commands in the same time.
const maxStarters = 2

// slowStart is how long a start may take before another starter takes over.
const slowStart = 100 * time.Millisecond

// hungStart is how long Start waits for a hanging start after its context has ended.
var hungStart = 10 * time.Second

// Start starts a command in its own session. If ctx is done first, Start returns ctx's cause, or returns the tree if
// it is running by then. Start gives up a hanging start ten seconds later, and ends its tree if it starts after all.
// Other errors are those of os/exec, or a *LimitError.
func (s *Supervisor) Start(ctx context.Context, spec Spec) (*Tree, error) {
	type result struct {
		tree *Tree
		err  error
	}
	started := make(chan result, 1)
	s.post(func(st *starter) {
		if ctx.Err() != nil {
			started <- result{err: context.Cause(ctx)}
			return
		}
		tree, err := s.start(ctx, st, spec)
		started <- result{tree, err}
	})
	select {
	case r := <-started:
		return r.tree, r.err
	case <-ctx.Done():
	}
	select {
	case r := <-started:
		return r.tree, r.err
	case <-time.After(hungStart):
	}
	s.busy.Go(func() {
		if r := <-started; r.err == nil {
			r.tree.End(context.Background(), syscall.SIGKILL)
			r.tree.Close()
			r.tree.output.Close()
		}
	})
	return nil, context.Cause(ctx)
}

func (s *Supervisor) post(f func(*starter)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.jobs = append(s.jobs, f)
	s.serveLocked()
}

// serveLocked makes a starter make the next start, unless all are busy.
func (s *Supervisor) serveLocked() {
	working := 0
	for _, st := range s.starters {
		if st.idle && !st.slow {
			st.changed.Signal()
			return
		}
		if !st.slow {
			working++
		}
	}
	if working == maxStarters {
		return
	}
	for _, st := range s.starters {
		if st.idle {
			st.slow = false
			st.changed.Signal()
			return
		}
	}
	st := &starter{changed: sync.Cond{L: &s.mu}}
	s.starters = append(s.starters, st)
	s.busy.Go(func() { s.run(st) })
}

// run is a starter's goroutine. It ends together with its thread.
func (s *Supervisor) run(st *starter) {
	runtime.LockOSThread()
	if unix.Gettid() == os.Getpid() { // in a host that adopts orphans, they become this thread's children
		defer runtime.UnlockOSThread()
		elsewhere := make(chan struct{})
		go func() { // on another thread, because this one is locked
			defer close(elsewhere)
			s.run(st)
		}()
		<-elsewhere
		return
	}
	s.mu.Lock()
	st.thread = unix.Gettid()
	s.mu.Unlock()
	slow := time.AfterFunc(slowStart, func() { s.replace(st) })
	defer slow.Stop()
	for {
		job := s.next(st)
		if job == nil {
			return
		}
		slow.Reset(slowStart) // stopping and restarting it would wake Go's poller
		job(st)
	}
}

// next waits for a job. It returns nil if the starter must end.
func (s *Supervisor) next(st *starter) func(*starter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st.idle = true
	for {
		switch {
		case !st.slow && len(s.jobs) > 0:
			st.idle = false
			job := s.jobs[0]
			if s.jobs = s.jobs[1:]; len(s.jobs) > 0 {
				s.serveLocked()
			}
			return job
		case s.closed, st.slow && st.leaders == 0:
			s.starters = slices.DeleteFunc(s.starters, func(other *starter) bool { return other == st })
			return nil
		}
		st.changed.Wait()
	}
}

// replace lets another starter make the next starts if this one is still busy.
func (s *Supervisor) replace(st *starter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st.slow = !st.idle; st.slow && len(s.jobs) > 0 {
		s.serveLocked()
	}
}

// forked reports whether a process may be a command being started, and is not an adopted orphan: orphans become
// children of the main thread. Without a list of a thread's children (CONFIG_PROC_CHILDREN), it returns false.
func (s *Supervisor) forked(pid int) bool {
	s.mu.Lock()
	var threads []int
	for _, st := range s.starters {
		if !st.idle {
			threads = append(threads, st.thread)
		}
	}
	s.mu.Unlock()
	return slices.ContainsFunc(threads, func(thread int) bool {
		children, err := procfs.ThreadChildren(os.Getpid(), thread)
		return err == nil && slices.Contains(children, pid)
	})
}

// register adds a tree to the registry of trees with unreaped leaders. Its leader may already have been reaped.
func (s *Supervisor) register(t *Tree) {
	s.mu.Lock()
	if s.trees == nil {
		s.trees = make(map[int]*Tree)
	}
	s.trees[t.pid] = t
	t.starter.leaders++
	s.mu.Unlock()
	s.setOrigin(t.pid, origin{pid: t.pid, tree: true}, t.wraps)
}

func (s *Supervisor) unregister(t *Tree) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.trees[t.pid] == t {
		delete(s.trees, t.pid)
	}
	st := t.starter
	if st.leaders--; st.leaders == 0 && st.slow {
		st.changed.Signal() // wake it so that it ends
	}
}

// leads reports whether the number, of a process or a session, is that of a registered tree's unreaped leader.
func (s *Supervisor) leads(session int) bool {
	s.mu.Lock()
	t := s.trees[session]
	s.mu.Unlock()
	return t != nil && t.Unreaped()
}

// Close ends the Supervisor's goroutines, and waits until they have ended.
func (s *Supervisor) Close() {
	s.mu.Lock()
	s.closed = true
	for _, st := range s.starters {
		st.changed.Signal()
	}
	s.mu.Unlock()
	s.busy.Wait()
	s.exits.close()
	s.table.Close()
}
