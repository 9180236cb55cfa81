package acpterm

// A manager's one thread: commands are started on it, their exits and what little they write are seen on it
// (watcher_linux.go), and requests that come over a connection are read on it (requests_linux.go), so that a command which an
// agent runs takes no change of threads at all.
//
// Why a thread: a child that asked for it is sent a signal when its parent dies (man 2 prctl, PR_SET_PDEATHSIG), and its
// parent is the thread that forked it, not the process. Go's threads may end early: that of a goroutine which locked
// itself to it and returned does. So all forks are made by one goroutine, on a thread of its own, which ends when
// nothing that it started is left. Should a start hang, as on a file system that does not answer, another such thread
// takes its place.
//
// By turns it makes the starts that there are, for as long as one may take (longStart), and looks at the descriptors; and
// then does what all that left to do, such as to write answers, at once. A start that waits for its child to have its program is
// paused meanwhile: jobs are coroutines (iter.Pull), which is why one reads as if there were no others.

import (
	"iter"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// loop runs jobs, and calls functions when descriptors become readable, one after the other on its thread. Jobs are starts:
// they may take a while, and pause. Whatever else it calls must not wait. The zero value is ready; the thread is there from the
// first job or descriptor on. All methods may be called concurrently, but no run, and none of the descriptors', after close.
type loop struct {
	watcher watcher
	busy    sync.WaitGroup // the threads' goroutines

	mu      sync.Mutex
	jobs    []func(pauseFunc)
	begun   uint64 // jobs that ever were
	threads []*loopThread
	taker   *loopThread // of the threads, the one that takes jobs, and watches
	waiting bool        // the taker is in the watcher, and is to be woken there
	after   []func()    // to be called when a job is through
	later   []func()    // to be called when the taker is through with what it does
	relief  *time.Timer // will see whether a job takes too long; nil while none is begun
	closed  bool
}

// loopThread is one thread.
type loopThread struct {
	paused []*pausedJob // for this thread alone

	// Under loop.mu.
	id      int       // the system's; 0 before it has begun, and when it is over
	busy    bool      // it has a job that is not paused
	changed sync.Cond // there is a job, something to watch, or it is the taker now; or there will be nothing any more
}

// pausedJob is a job that waits for a loan to be over. It goes on on the thread that it began on.
type pausedJob struct {
	goOn     func() (until *loan, paused bool)
	until    *loan
	since    time.Time
	attended bool // a goroutine waits for that and will say so
}

// longStart is longer than a start takes, unless something hangs. For about so long all else waits for starts: for one that
// hangs, or for many.
const longStart = 10 * time.Millisecond

// patience is for how long the thread waits for a child, and does not see what else there may be.
const patience = time.Millisecond

// post has f run on the thread; it begins after those that were posted before. After close it does nothing, and reports false.
func (l *loop) post(f func(pauseFunc)) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.jobs = append(l.jobs, f)
	l.wakeLocked()
	return true
}

// run calls f on the thread and returns when f has.
func (l *loop) run(f func(pauseFunc)) {
	done := make(chan struct{})
	l.post(func(pause pauseFunc) {
		defer close(done)
		f(pause)
	})
	<-done
}

// afterJob has f called, which must not wait, when a job that is running is through, or pauses, or takes too long. It reports false,
// and does nothing, if none is.
func (l *loop) afterJob(f func()) (later bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.taker == nil || !l.taker.busy {
		return false
	}
	patience := time.AfterFunc(longStart, f)
	l.after = append(l.after, func() {
		if patience.Stop() {
			f()
		}
	})
	return true
}

// soon has f called, which must not wait, when the thread is through with what it is at: with the starts that are to be made now,
// and what has become readable. It is for what is called on the thread; elsewhere it does nothing, and reports false.
func (l *loop) soon(f func()) bool {
	id := unix.Gettid()
	l.mu.Lock()
	defer l.mu.Unlock()
	here := slices.ContainsFunc(l.threads, func(t *loopThread) bool { return t.id == id })
	if here {
		l.later = append(l.later, f)
	}
	return here
}

// watch has f called each time that there is something new to be read from a descriptor, or its end: if there is already,
// too. Now and then it is called without a reason, for what happened to an earlier descriptor with that number.
func (l *loop) watch(fd int, f func()) error { return l.watched(l.watcher.watch(fd, f)) }

// watchOnce has f called once, when there is something to be read from a descriptor, or its end, until the next watchOnce.
func (l *loop) watchOnce(fd int, f func()) error { return l.watched(l.watcher.watchOnce(fd, f)) }

// watched has the thread look if it is not there yet, or has had nothing to watch so far.
func (l *loop) watched(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil && !l.waiting {
		l.wakeLocked()
	}
	return err
}

// forget ends the watch of a descriptor that is about to be closed.
func (l *loop) forget(fd int) { l.watcher.forget(fd) }

// leave ends the watch of a descriptor that stays open.
func (l *loop) leave(fd int) { l.watcher.leave(fd) }

// wakeLocked has the taker look what there is.
func (l *loop) wakeLocked() {
	switch {
	case l.taker == nil:
		l.changeTakerLocked()
	case l.waiting:
		l.waiting = false
		l.watcher.wake()
	default:
		l.taker.changed.Signal()
	}
}

// changeTakerLocked has a thread take jobs that has none.
func (l *loop) changeTakerLocked() {
	l.taker = nil
	for _, t := range l.threads {
		if !t.busy {
			l.taker = t
		}
	}
	if l.taker == nil {
		t := &loopThread{changed: sync.Cond{L: &l.mu}}
		l.taker, l.threads = t, append(l.threads, t)
		l.busy.Go(func() { l.serve(t) })
	}
	l.taker.changed.Signal()
}

// serve is a thread's goroutine.
func (l *loop) serve(t *loopThread) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	l.identify(t, unix.Gettid())
	defer l.identify(t, 0)
	for l.await(t) {
		l.runJobs(t)
		l.resumeJobs(t)
		look, wait := l.beginLook(t)
		if wait {
			l.callLater()
		}
		seen := false
		if look {
			seen = l.watcher.round(wait, l.endLook)
		}
		l.callLater()
		if !seen {
			l.awaitLoan(t)
		}
	}
}

func (l *loop) identify(t *loopThread, id int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.id = id
}

// runJobs runs what jobs there are, but for no longer than one may take.
func (l *loop) runJobs(t *loopThread) {
	for began := time.Now(); time.Since(began) < longStart; {
		job := l.begin(t)
		if job == nil {
			return
		}
		goOn, _ := iter.Pull(func(yield func(*loan) bool) { job(func(until *loan) { yield(until) }) })
		l.proceed(t, &pausedJob{goOn: goOn})
	}
}

// proceed runs a job until it pauses or is through.
func (l *loop) proceed(t *loopThread, j *pausedJob) {
	until, paused := j.goOn()
	if paused {
		j.until, j.since, j.attended = until, time.Now(), false
		t.paused = append(t.paused, j)
	}
	for _, f := range l.through(t) {
		f()
	}
}

// resumeJobs goes on with the jobs that need not wait any more.
func (l *loop) resumeJobs(t *loopThread) {
	paused := t.paused
	t.paused = nil
	for _, j := range paused {
		if !j.until.over() {
			t.paused = append(t.paused, j)
			continue
		}
		l.setBusy(t)
		l.proceed(t, j)
	}
}

// awaitLoan waits for one of the thread's children if there is nothing else to do. One that takes long is left to a goroutine.
func (l *loop) awaitLoan(t *loopThread) {
	i := slices.IndexFunc(t.paused, func(j *pausedJob) bool { return !j.attended })
	if i < 0 || l.hasWork(t) {
		return
	}
	j := t.paused[i]
	if time.Since(j.since) < longStart {
		j.until.await(patience)
		return
	}
	j.attended = true
	l.busy.Go(func() {
		j.until.await(0)
		l.mu.Lock()
		defer l.mu.Unlock()
		t.changed.Signal()
		l.wakeLocked()
	})
}

// callLater calls what soon was given.
func (l *loop) callLater() {
	l.mu.Lock()
	later := l.later
	l.later = nil
	l.mu.Unlock()
	for _, f := range later {
		f()
	}
}

// await returns when there is something to do for a thread, which is to say that it is the taker, or false when there will
// be nothing any more.
func (l *loop) await(t *loopThread) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		switch {
		case l.taker == t && len(l.jobs)+len(l.later) > 0 || slices.ContainsFunc(t.paused, (*pausedJob).wantsThread):
			return true
		case l.closed && len(t.paused) == 0:
			return false
		case !l.closed && l.taker == t && l.watcher.open():
			return true
		}
		t.changed.Wait()
	}
}

// wantsThread reports whether there is something to do for a job's thread: to go on, or to wait.
func (j *pausedJob) wantsThread() bool { return !j.attended || j.until.over() }

// hasWork reports whether there are jobs that a thread is to begin.
func (l *loop) hasWork(t *loopThread) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.taker == t && len(l.jobs) > 0
}

// setBusy says that a thread goes on with a job.
func (l *loop) setBusy(t *loopThread) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.setBusyLocked(t)
}

func (l *loop) setBusyLocked(t *loopThread) {
	t.busy = true
	if l.relief == nil && !l.closed {
		l.relieveLocked()
	}
}

// begin takes a job, if there is one, and it is for this thread to take.
func (l *loop) begin(t *loopThread) (job func(pauseFunc)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.taker != t || len(l.jobs) == 0 {
		return nil
	}
	job, l.jobs = l.jobs[0], l.jobs[1:]
	l.begun++
	l.setBusyLocked(t)
	return job
}

// through says that a thread's job is, or pauses, and returns what is to be called then.
func (l *loop) through(t *loopThread) (after []func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.busy = false
	after, l.after = l.after, nil
	return after
}

// beginLook says whether a thread is to look what became readable, and whether it is to wait for that.
func (l *loop) beginLook(t *loopThread) (look, wait bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.taker != t || !l.watcher.open() {
		return false, false
	}
	l.waiting = len(l.jobs) == 0 && !l.closed && !slices.ContainsFunc(t.paused, (*pausedJob).wantsThread)
	return true, l.waiting
}

// endLook says that the wait is over.
func (l *loop) endLook() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = false
}

// relieveLocked has another thread take over when a job takes long and there is something else to do. The timer goes on
// for as long as there are jobs, so that none of them has to set one.
func (l *loop) relieveLocked() {
	begun := l.begun
	l.relief = time.AfterFunc(longStart, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.relief = nil
		switch {
		case l.closed || l.begun == begun && !l.taker.busy:
			return
		case l.begun == begun && (len(l.jobs)+len(l.later) > 0 || l.watcher.ready()):
			l.changeTakerLocked()
		}
		l.relieveLocked()
	})
}

// close ends the threads, when what was posted is done, and gives back what is held.
func (l *loop) close() {
	l.mu.Lock()
	l.closed = true
	if l.relief != nil {
		l.relief.Stop()
	}
	if l.taker != nil {
		l.wakeLocked()
	}
	for _, t := range l.threads {
		t.changed.Signal()
	}
	l.mu.Unlock()
	l.busy.Wait()
	l.watcher.close()
}
