package acpterm

// The thread that commands are started on. A child that asked for it is sent a signal when its parent dies
// (man 2 prctl, PR_SET_PDEATHSIG), and its parent is the thread that forked it, not the process. Go's threads may
// end early: that of a goroutine which locked itself to it and returned does. So all forks are made by one
// goroutine, on a thread of its own, which ends when nothing that it started is left.

import (
	"runtime"
	"sync"
	"time"
)

// starter runs functions on its thread. The zero value is ready; the thread is there from the first run on. All
// methods may be called concurrently, but no run after close.
type starter struct {
	once sync.Once
	jobs chan func()

	mu     sync.Mutex
	busy   bool     // a job is being run
	queued []func() // what to call when it has been
}

// run calls f on the thread and returns when f has.
func (s *starter) run(f func()) {
	s.once.Do(func() {
		s.jobs = make(chan func())
		go s.serve()
	})
	done := make(chan struct{})
	s.jobs <- func() {
		defer close(done)
		f()
	}
	<-done
}

// longStart is longer than a start takes, unless the program is on a file system that does not answer.
const longStart = 10 * time.Millisecond

// after has f called, which must not wait, when the run that is under way is through, or takes too long. It reports false,
// and does nothing, if none is.
func (s *starter) after(f func()) (later bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy {
		patience := time.AfterFunc(longStart, f)
		s.queued = append(s.queued, func() {
			if patience.Stop() {
				f()
			}
		})
	}
	return s.busy
}

func (s *starter) serve() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for job := range s.jobs {
		s.mu.Lock()
		s.busy = true
		s.mu.Unlock()
		job()
		s.mu.Lock()
		queued := s.queued
		s.busy, s.queued = false, nil
		s.mu.Unlock()
		for _, f := range queued {
			f()
		}
	}
}

// close ends the thread's work.
func (s *starter) close() {
	s.once.Do(func() { s.jobs = make(chan func()) })
	close(s.jobs)
}
