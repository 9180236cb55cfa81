package acpterm

// The thread that commands are started on. A child that asked for it is sent a signal when its parent dies
// (man 2 prctl, PR_SET_PDEATHSIG), and its parent is the thread that forked it, not the process. Go's threads may
// end early: that of a goroutine which locked itself to it and returned does. So all forks are made by one
// goroutine, on a thread of its own, which ends when nothing that it started is left. Should something hang on it, such
// as a file system that does not answer, another such thread takes its place.

import (
	"runtime"
	"sync"
	"time"
)

// starter runs functions on its thread. The zero value is ready; the thread is there from the first job on. All methods
// may be called concurrently, but no run after close.
type starter struct {
	mu      sync.Mutex
	changed sync.Cond // there is a job, another thread takes them, or there will be none any more
	jobs    []func()
	taken   uint64 // how many were
	threads []*startThread
	taker   *startThread // of the threads, the one that takes jobs
	after   []func()     // to be called when a job is through
	watch   *time.Timer  // will see whether jobs are taken; nil while none wait
	closed  bool
}

// startThread is one thread.
type startThread struct {
	busy bool // under starter.mu: it has a job
}

// longStart is longer than a start takes, unless something hangs.
const longStart = 10 * time.Millisecond

// post has f run on the thread, after those that were posted before. After close it does nothing, and reports false.
func (s *starter) post(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.changed.L = &s.mu
	s.jobs = append(s.jobs, f)
	switch {
	case s.taker == nil:
		s.changeTakerLocked()
	case !s.taker.busy:
		s.changed.Broadcast()
	case s.watch == nil:
		s.watchLocked()
	}
	return true
}

// run calls f on the thread and returns when f has.
func (s *starter) run(f func()) {
	done := make(chan struct{})
	s.post(func() {
		defer close(done)
		f()
	})
	<-done
}

// afterJob has f called, which must not wait, when a job that is running is through, or takes too long. It reports false,
// and does nothing, if none is.
func (s *starter) afterJob(f func()) (later bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taker == nil || !s.taker.busy {
		return false
	}
	patience := time.AfterFunc(longStart, f)
	s.after = append(s.after, func() {
		if patience.Stop() {
			f()
		}
	})
	return true
}

// changeTakerLocked has a thread take jobs that has none.
func (s *starter) changeTakerLocked() {
	s.taker = nil
	for _, t := range s.threads {
		if !t.busy {
			s.taker = t
			s.changed.Broadcast()
		}
	}
	if s.taker == nil {
		s.taker = new(startThread)
		s.threads = append(s.threads, s.taker)
		go s.serve(s.taker)
	}
}

// watchLocked has another thread take jobs when none is taken for long.
func (s *starter) watchLocked() {
	taken := s.taken
	s.watch = time.AfterFunc(longStart, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.watch = nil
		if len(s.jobs) == 0 {
			return
		}
		if s.taken == taken {
			s.changeTakerLocked()
		}
		s.watchLocked()
	})
}

// serve is a thread's goroutine.
func (s *starter) serve(t *startThread) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for job := s.take(t); job != nil; job = s.take(t) {
		job()
		for _, f := range s.through(t) {
			f()
		}
	}
}

// take waits for a job; nil when there will be none any more.
func (s *starter) take(t *startThread) (job func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.jobs) == 0 || s.taker != t {
		if s.closed {
			return nil
		}
		s.changed.Wait()
	}
	job, s.jobs = s.jobs[0], s.jobs[1:]
	s.taken++
	t.busy = true
	return job
}

// through says that a thread's job is, and returns what is to be called then.
func (s *starter) through(t *startThread) (after []func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.busy = false
	after, s.after = s.after, nil
	return after
}

// close ends the threads' work.
func (s *starter) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.watch != nil && len(s.jobs) == 0 {
		s.watch.Stop()
	}
	s.changed.Broadcast()
}
