package acpterm

// The thread that commands are started on. A child that asked for it is sent a signal when its parent dies
// (man 2 prctl, PR_SET_PDEATHSIG), and its parent is the thread that forked it, not the process. Go's threads may
// end early: that of a goroutine which locked itself to it and returned does. So all forks are made by one
// goroutine, on a thread of its own, which ends when nothing that it started is left.

import (
	"runtime"
	"sync"
)

// starter runs functions on its thread. The zero value is ready; the thread is there from the first run on. Both
// methods may be called concurrently, but no run after close.
type starter struct {
	once sync.Once
	jobs chan func()
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

func (s *starter) serve() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for job := range s.jobs {
		job()
	}
}

// close ends the thread's work.
func (s *starter) close() {
	s.once.Do(func() { s.jobs = make(chan func()) })
	close(s.jobs)
}
