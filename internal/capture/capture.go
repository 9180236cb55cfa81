// Package capture copies a command's output from a pipe or a PTY into a Sink, with one goroutine for each, which is
// parked in Go's poller while there is nothing to read. It imports the standard library and x/sys. A caller gives it a
// file that supports deadlines, and calls Stop or waits until every writer has closed it.
package capture

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"
)

// Sink receives the output. Reserve returns room for up to n bytes, at least one; Commit says how many of them hold
// output now; Close says that no more will come. A Reader calls them from one goroutine at a time.
type Sink interface {
	Reserve(n int) []byte
	Commit(n int)
	Close()
}

const (
	minRead = 512      // bytes of room for the first read: most commands write little
	maxRead = 64 << 10 // and at most, which is what a pipe holds unless it was resized
)

// A Reader copies what arrives in a pipe into a Sink, until the last process that has the pipe open for writing has
// closed it, or until Stop. Its methods are safe for concurrent use. None of them waits, except Stop.
type Reader struct {
	sink  Sink
	flush func()        // has the sink take a character that was left unfinished
	pty   bool          // the pipe is the master of a PTY
	ended chan struct{} // closed when the pipe and the sink are closed

	mu       sync.Mutex
	pipe     *os.File // nil while readBatched reads; only run changes it
	drains   []func() // called when what was in the pipe is in the sink
	stopping bool
	over     bool // the sink is closed, and drains are called immediately
}

// Start begins to copy, in a goroutine that it adds to busy. The pipe must support deadlines; the Reader closes it. On
// Windows, text in the console's code page becomes UTF-8.
func Start(pipe *os.File, to Sink, busy *sync.WaitGroup) *Reader {
	to, flush := asUTF8(to)
	r := newReader(pipe, to)
	r.flush = flush
	busy.Go(r.run)
	return r
}

// StartPTY is Start for the master of a PTY.
func StartPTY(master *os.File, to Sink, busy *sync.WaitGroup) *Reader {
	r := newReader(master, to)
	r.pty = true
	busy.Go(r.run)
	return r
}

func newReader(pipe *os.File, to Sink) *Reader {
	return &Reader{pipe: pipe, sink: to, flush: func() {}, ended: make(chan struct{})}
}

// Drain calls done, which must not wait, when every byte that was written to the pipe before the call is in the sink.
// It is exact, and needs no timer: what a process wrote before its exit was seen lies in the pipe, and the pipe says
// how much that is. Of a PTY all is read that there is, up to what a PTY can hold, and on Windows up to the end, which
// the command's exit brings about.
func (r *Reader) Drain(done func()) {
	r.mu.Lock()
	over := r.over
	if !over {
		r.drains = append(r.drains, done)
	}
	r.mu.Unlock()
	if over {
		done()
		return
	}
	r.interrupt()
}

// Stop drains the pipe, closes it and the sink, and returns when that is done, even while a process has the pipe open
// for writing.
func (r *Reader) Stop() {
	r.mu.Lock()
	r.stopping = true
	r.mu.Unlock()
	r.interrupt()
	<-r.ended
}

// Over reports whether nothing more will be read.
func (r *Reader) Over() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.over
}

// past is a deadline that ends a read immediately.
var past = time.Unix(1, 0)

// interrupt makes the current read return, or the next one.
func (r *Reader) interrupt() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pipe != nil {
		r.pipe.SetReadDeadline(past)
	}
}

// run copies until the end of the pipe or Stop.
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
		case errors.Is(err, syscall.EAGAIN): // the system had no room for the pipe in Go's poller
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

// finish closes the pipe and the sink, and calls the drains that came too late to be served.
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

// serve handles Drain and Stop, and reports whether to go on reading.
func (r *Reader) serve() bool {
	for {
		// Clear the deadline, then take the list. Drain adds to the list, then sets the deadline. So none is missed.
		r.pipe.SetReadDeadline(time.Time{})
		r.mu.Lock()
		drains := r.drains
		r.drains = nil
		r.mu.Unlock()
		interrupted, err := r.present()
		if err != nil { // the end: finish closes the sink, so that an unfinished character is shown before the drains
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

// present reads what lies in the pipe or the PTY now.
func (r *Reader) present() (interrupted bool, err error) {
	if r.pty {
		return false, r.readPTY()
	}
	return r.readPresent()
}

// readPresent reads the bytes that lie in the pipe now, so that no read waits, and reports whether an interrupt came.
// Its error is io.EOF when every writer has closed the pipe and nothing is left in it.
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
	littleReads = 8                      // so many reads in a row
	littleBytes = 1 << 10                // of less than this on average
	littleTime  = time.Millisecond       // within this time are a command that writes little at a time, without end;
	pauseTime   = 100 * time.Microsecond // which then is read once in so long
)

// backOff detects a command that writes little at a time without end. Each of its writes would wake the Reader; to read
// many of them at once takes a tenth of the processor time.
type backOff struct {
	reads, bytes int
	since        time.Time
}

// read counts a read of n bytes, and reports whether to read in batches from now on.
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
