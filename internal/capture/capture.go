// Package capture copies a command's output from a pipe or a PTY into a Sink. Each pipe has its own goroutine, parked
// in Go's poller while the pipe is empty. The caller passes a file that supports deadlines, and calls Stop or waits
// until every writer has closed it.
package capture

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"
)

// Sink receives the output. Reserve returns room for at least one and at most n bytes. Commit says how many of them
// now hold output. Close marks the end of the output. A Reader calls the methods from one goroutine at a time.
type Sink interface {
	Reserve(n int) []byte
	Commit(n int)
	Close()
}

const (
	minRead = 512      // room for the first read, in bytes: most commands write little
	maxRead = 64 << 10 // maximum room for a read: the default capacity of a pipe
)

// A Reader copies the contents of a pipe into a Sink until every writer has closed the pipe, or until Stop. Its methods
// may be called concurrently. None of them blocks, except Stop.
type Reader struct {
	sink  Sink
	flush func()        // passes an unfinished character on to the sink
	pty   bool          // the pipe is the master of a PTY
	ended chan struct{} // closed after the pipe and the sink

	mu       sync.Mutex
	pipe     *os.File // nil while readBatched reads; only run changes it
	drains   []func() // called once the pipe's present contents are in the sink
	stopping bool
	over     bool // the sink is closed, and Drain calls done immediately
}

// Start starts copying in a new goroutine, which it adds to busy. The pipe must support deadlines; the Reader closes
// it. On Windows, text in the console's code page is converted to UTF-8.
func Start(pipe *os.File, to Sink, busy *sync.WaitGroup) *Reader {
	to, flush := asUTF8(to)
	r := newReader(pipe, to)
	r.flush = flush
	busy.Go(r.run)
	return r
}

// StartPTY is like Start, but reads from the master of a PTY.
func StartPTY(master *os.File, to Sink, busy *sync.WaitGroup) *Reader {
	r := newReader(master, to)
	r.pty = true
	busy.Go(r.run)
	return r
}

func newReader(pipe *os.File, to Sink) *Reader {
	return &Reader{pipe: pipe, sink: to, flush: func() {}, ended: make(chan struct{})}
}

// Drain calls done once every byte written to the pipe before the call is in the sink. done must not block.
//
// Drain is exact and needs no timer: all output that a process wrote before its exit was seen is in the pipe, and the
// pipe reports its size. From a PTY, the Reader reads everything available, up to the capacity of a PTY. On Windows it
// reads a PTY to the end, which follows the command's exit.
func (r *Reader) Drain(done func()) {
	r.mu.Lock()
	over := r.over
	if !over {
		r.drains = append(r.drains, done)
		r.interruptLocked()
	}
	r.mu.Unlock()
	if over {
		done()
	}
}

// Stop drains the pipe, and closes it and the sink. It does not wait for processes that have the pipe open for writing.
func (r *Reader) Stop() {
	r.mu.Lock()
	r.stopping = true
	r.interruptLocked()
	r.mu.Unlock()
	<-r.ended
}

// Over reports whether the output has ended.
func (r *Reader) Over() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.over
}

var past = time.Unix(1, 0)

// interruptLocked makes the current or the next read return.
func (r *Reader) interruptLocked() {
	if r.pipe != nil {
		r.pipe.SetReadDeadline(past)
	}
}

// run copies until the end of the pipe, or until Stop.
func (r *Reader) run() {
	defer close(r.ended)
	defer r.finish()
	var pace backOff
	for size := minRead; ; {
		room := r.sink.Reserve(size)
		n, err := readPipe(r.pipe, room)
		r.sink.Commit(n)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			if !r.serve() {
				return
			}
		case errors.Is(err, syscall.EAGAIN): // the system could not add the pipe to Go's poller
			time.Sleep(pauseTime)
		case err != nil: // io.EOF: every writer has closed the pipe
			return
		default:
			if n == len(room) {
				size = min(2*size, maxRead)
			}
			if !r.pty && pace.read(n) {
				r.readBatched()
			}
		}
	}
}

// finish closes the pipe and the sink, and calls the remaining drains.
func (r *Reader) finish() {
	r.pipe.Close()
	r.sink.Close()
	r.mu.Lock()
	r.over = true
	drains := r.drains
	r.drains = nil
	r.mu.Unlock()
	call(drains)
}

func call(functions []func()) {
	for _, f := range functions {
		f()
	}
}

// serve handles Drain and Stop, and reports whether to continue reading.
func (r *Reader) serve() bool {
	for {
		// Clear the deadline before taking the list: Drain adds to the list and then sets the deadline.
		r.pipe.SetReadDeadline(time.Time{})
		r.mu.Lock()
		drains := r.drains
		r.drains = nil
		r.mu.Unlock()
		interrupted, err := r.present()
		if err != nil { // the end: before the drains, finish closes the sink, to show an unfinished character
			r.mu.Lock()
			r.drains = append(drains, r.drains...)
			r.mu.Unlock()
			return false
		}
		if len(drains) > 0 {
			r.flush()
		}
		call(drains)
		if interrupted {
			continue
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		return !r.stopping
	}
}

// present reads the present contents of the pipe or the PTY.
func (r *Reader) present() (interrupted bool, err error) {
	if r.pty {
		return false, r.readPTY()
	}
	return r.readPresent()
}

// readPresent reads the bytes now in the pipe, so that no read blocks, and reports whether it was interrupted. It
// returns io.EOF if the pipe is empty and every writer has closed it.
func (r *Reader) readPresent() (interrupted bool, err error) {
	left, err := unread(r.pipe)
	for left > 0 && err == nil {
		var n int
		n, err = readPipe(r.pipe, r.sink.Reserve(min(left, maxRead)))
		r.sink.Commit(n)
		left -= n
		if errors.Is(err, os.ErrDeadlineExceeded) {
			r.pipe.SetReadDeadline(time.Time{})
			interrupted, err = true, nil
		}
	}
	if err == nil {
		_, err = unread(r.pipe)
	}
	return interrupted, err
}

const (
	// A command writes continuously in small pieces if littleReads reads in a row return less than littleBytes on
	// average, within littleTime. Its output is then read once every pauseTime.
	littleReads = 8
	littleBytes = 1 << 10
	littleTime  = time.Millisecond
	pauseTime   = 100 * time.Microsecond
)

// backOff detects a command that writes continuously in small pieces. Each write would wake the Reader; reading many of
// them at once takes a tenth of the processor time.
type backOff struct {
	reads, bytes int
	since        time.Time
}

// read records a read of n bytes, and reports whether to read in batches from now on.
func (b *backOff) read(n int) (batch bool) {
	if b.reads == 0 {
		*b = backOff{since: time.Now()}
	}
	b.reads++
	b.bytes += n
	if b.reads < littleReads {
		return false
	}
	b.reads = 0
	return b.bytes < littleReads*littleBytes && time.Since(b.since) < littleTime
}
