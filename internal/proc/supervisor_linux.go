package proc

// The threads that start commands, and the registry of leaders, on Linux.

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

// Supervisor starts trees and knows what they have in common. The zero value is ready, and takes nothing before the
// first Start. Its methods may be called concurrently, but Close only when every Tree is closed, and nothing after it.
//
// Every start is made by one goroutine that has locked its thread: the system kills a leader when the thread that
// forked it ends (PR_SET_PDEATHSIG in man 2 prctl), which is to happen when the host dies, and only then. When a start
// hangs, as on a network file system that does not answer, a second goroutine takes over; the first ends when no leader
// that it forked is left.
type Supervisor struct {
	// HostReaps says that the host reaps every child of its process, and hands over how each ended (Reaped).
	HostReaps bool

	busy     sync.WaitGroup // the goroutines of starts and of trees
	inherit  inherit
	counters procfs.Counters

	mu       sync.Mutex
	jobs     []func(*starter) // starts that have not begun
	active   *starter         // begins the next one; nil before the first
	starters []*starter       // that run
	closed   bool
	trees    map[int]*Tree              // by the leader's number, until it is reaped
	counts   forkCount                  // as it was read last
	starting int                        // starts whose tree is not registered
	early    map[int]syscall.WaitStatus // what Reaped was called with during those, by number
}

// starter is a goroutine that starts trees on its thread.
type starter struct {
	changed sync.Cond // with Supervisor.mu: there is a job, or it is not the active one any more, or a leader is gone

	// Under Supervisor.mu.
	thread  int  // its number; 0 until it runs
	idle    bool // it has no job
	leaders int  // that it forked and that are not reaped
}

// slowStart is how long a start may take before another goroutine takes over.
const slowStart = 100 * time.Millisecond

// hungStart is how long Start waits for a start that hangs once its context has ended.
var hungStart = 10 * time.Second

// Start starts a command: with standard input at end of file, one pipe for both outputs, a session of its own. When ctx
// ends before that is done, Start fails with ctx's cause, or returns the tree if it runs by then. A start that hangs is
// given up ten seconds later, and what it still starts is ended. Other errors are those of os/exec, and *LimitError.
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

// post has a starter call f.
func (s *Supervisor) post(f func(*starter)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.jobs = append(s.jobs, f)
	if s.active == nil {
		s.addStarterLocked()
		return
	}
	s.active.changed.Signal()
}

func (s *Supervisor) addStarterLocked() {
	st := &starter{changed: sync.Cond{L: &s.mu}}
	s.active = st
	s.starters = append(s.starters, st)
	s.busy.Go(func() { s.run(st) })
}

// run is a starter's goroutine. It ends with its thread.
func (s *Supervisor) run(st *starter) {
	runtime.LockOSThread()
	if unix.Gettid() == os.Getpid() { // orphans become children of this thread in a host that gets them
		defer runtime.UnlockOSThread()
		elsewhere := make(chan struct{})
		go func() { // which has another thread, since this one is locked
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
		slow.Reset(slowStart) // to stop it after the job, and begin it anew, would wake Go's poller
		job(st)
	}
}

// next waits for a job; nil when the starter is to end.
func (s *Supervisor) next(st *starter) func(*starter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st.idle = true
	for {
		switch {
		case s.active == st && len(s.jobs) > 0:
			st.idle = false
			job := s.jobs[0]
			s.jobs = s.jobs[1:]
			return job
		case s.closed, s.active != st && st.leaders == 0:
			s.starters = slices.DeleteFunc(s.starters, func(other *starter) bool { return other == st })
			return nil
		}
		st.changed.Wait()
	}
}

// replace has another starter begin the next starts, if this one still does: one that has nothing to do, or a new one.
func (s *Supervisor) replace(slow *starter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active != slow || slow.idle {
		return
	}
	for _, st := range s.starters {
		if st.idle {
			s.active = st
			st.changed.Signal()
			return
		}
	}
	s.addStarterLocked()
}

// beginStart and endStart surround a start.
func (s *Supervisor) beginStart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.starting++
}

func (s *Supervisor) endStart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.starting--; s.starting == 0 {
		s.early = nil
	}
}

// forked reports whether a process is a command that was started or is being started, and no orphan that became a child
// of this process: those are the main thread's. Where the system does not tell (CONFIG_PROC_CHILDREN) it is false.
func (s *Supervisor) forked(pid int) bool {
	s.mu.Lock()
	var threads []int
	for _, st := range s.starters {
		threads = append(threads, st.thread)
	}
	s.mu.Unlock()
	return slices.ContainsFunc(threads, func(thread int) bool {
		children, err := procfs.ThreadChildren(thread)
		return err == nil && slices.Contains(children, pid)
	})
}

// register and unregister keep the trees whose leaders are not reaped. A leader may have been reaped before.
func (s *Supervisor) register(t *Tree) {
	s.mu.Lock()
	if s.trees == nil {
		s.trees = make(map[int]*Tree)
	}
	s.trees[t.pid] = t
	t.starter.leaders++
	status, reaped := s.early[t.pid]
	s.mu.Unlock()
	if reaped {
		t.reapedWith(status)
	}
}

func (s *Supervisor) unregister(t *Tree) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.trees[t.pid] == t {
		delete(s.trees, t.pid)
	}
	st := t.starter
	if st.leaders--; st.leaders == 0 && st != s.active {
		st.changed.Signal() // it ends
	}
}

// leads reports whether a session is that of a registered tree.
func (s *Supervisor) leads(session int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trees[session] != nil
}

// Reaped hands over how a child of this process ended that the host has reaped. It reports whether that was the leader
// of a tree that has been started.
func (s *Supervisor) Reaped(pid int, status syscall.WaitStatus) bool {
	s.mu.Lock()
	t := s.trees[pid]
	if s.starting > 0 {
		if s.early == nil {
			s.early = make(map[int]syscall.WaitStatus)
		}
		s.early[pid] = status
	}
	s.mu.Unlock()
	return t != nil && t.reapedWith(status)
}

// Close ends the Supervisor's goroutines, and returns when they have ended.
func (s *Supervisor) Close() {
	s.mu.Lock()
	s.closed = true
	for _, st := range s.starters {
		st.changed.Signal()
	}
	s.mu.Unlock()
	s.busy.Wait()
	s.counters.Close()
}

// forkCount says how many process numbers had been given out at some time.
type forkCount struct {
	at    time.Time
	forks uint64 // processes and threads that the machine ever began; 0 if that is not known
}

// forkCountAge is how old a count may be that a start uses: to read it takes longer than anything else about a start
// but the fork.
const forkCountAge = time.Second

// recentForks is a count that is at most forkCountAge old. An older one errs on the safe side: more numbers seem to
// have been given out since.
func (s *Supervisor) recentForks() forkCount {
	s.mu.Lock()
	n := s.counts
	s.mu.Unlock()
	if !n.at.IsZero() && time.Since(n.at) < forkCountAge {
		return n
	}
	n = forkCount{time.Now(), procfs.Forks()}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts = n
	return n
}

// mayHaveWrapped reports whether so many processes may have begun since, or since the later time, that numbers from
// before were given out again.
func (n forkCount) mayHaveWrapped(later time.Time) bool {
	const (
		reserved = 1000                   // more than the numbers that are never given out again
		tooSoon  = 100 * time.Millisecond // no machine begins thirty thousand processes in this time
	)
	if time.Since(later) < tooSoon {
		return false
	}
	forks, limit := procfs.Forks(), procfs.Limit()
	return n.forks == 0 || limit == 0 || forks < n.forks || forks-n.forks+reserved >= limit
}
