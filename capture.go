package acpterm

// From the pipe into the ring buffer: one goroutine a terminal, parked in Go's poller while there is
// nothing to read. It knows files and bytes, nothing of processes.

import (
	"errors"
	"os"
	"runtime"
	"sync"
	"time"
)

// source is what a terminal knows of where its output comes from: a capture, what comes before one (quiet_linux.go), or a
// Runner (runner.go).
type source interface {
	// begin has the output moved into the ring buffer from now on. A goroutine that this takes is in busy.
	begin(busy *sync.WaitGroup)
	drain(f func()) // calls f, which must not wait, when every byte that was written before is in the ring buffer
	stop()          // drains, and returns when nothing more comes, whoever still could write
	over() bool     // whether nothing more comes
}

// capture moves what arrives in a pipe into a ring buffer until nobody holds the pipe's other end, or
// until it is stopped.
//
// drain, stop and ended may be used concurrently, with run in a goroutine of its own.
type capture struct {
	pipe  *os.File
	ring  *ringBuffer
	hot   *hotPipes     // the manager's; nil: this one is not to be hot
	ended chan struct{} // closed when run has returned: the ring is closed, and so is the pipe

	moderate bool // for run: the pipe is no hot one, though it may look like it; commands seldom write another way than before

	mu       sync.Mutex
	drainers []func() // each called when what lay in the pipe is in the ring
	stopping bool
	finished bool // drainers are called by who comes with them
}

func newCapture(pipe *os.File, ring *ringBuffer, hot *hotPipes) *capture {
	return &capture{pipe: pipe, ring: ring, hot: hot, ended: make(chan struct{})}
}

// fairAfter is how many reads that fill all the room they had, 1.5 MiB in all, one capture makes before others have their
// turn. Go would interrupt it after 10 ms, in which it reads fifty: with a thousand of them the last would wait for seconds.
// Fewer would be fairer and slower, since each turn begins with a buffer that has left the processor's caches.
const fairAfter = 24

// wideAfter is how many such reads there are until the pipe is made wider.
const wideAfter = 24

func (c *capture) begin(busy *sync.WaitGroup) { busy.Go(c.run) }

// run is the goroutine.
func (c *capture) run() {
	defer close(c.ended)
	defer c.finish()
	defer c.pipe.Close()
	defer c.ring.close()
	leave := func() {}
	defer func() { leave() }()
	var pace pace
	for size, full := minReserve, 0; ; {
		room := c.ring.reserve(size)
		n, err := readPipe(c.pipe, room)
		c.ring.commit(n)
		if n == len(room) {
			size = min(2*size, maxReserve)
			if full++; full == wideAfter {
				leave = c.hot.widen(c.pipe)
			}
			if full%fairAfter == 0 {
				runtime.Gosched()
			}
		}
		if err == nil {
			err = c.readHot(pace.read(n))
		}
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			if !c.interrupted() {
				return
			}
		case err != nil: // io.EOF: all who could write have closed it
			return
		}
	}
}

// rawReader is what a syscall.RawConn has of it. Its errors are readPipe's.
type rawReader interface {
	Control(f func(fd uintptr)) error
	Read(f func(fd uintptr) (done bool)) error
}

func (c *capture) readHot(speed speed) error {
	if speed == moderate || c.moderate {
		return nil
	}
	raw, err := c.pipe.SyscallConn()
	if err != nil {
		return nil
	}
	switch err = c.hot.read(speed, raw, c.ring); err {
	case errPause:
		return nil
	case errWrongManner:
		c.moderate = true
		return nil
	}
	return err
}

// drain calls f when every byte that was in the pipe when it was called is in the ring. It is exact:
// what a process wrote before it exited lies in the pipe when its exit is seen, so the pipe's own count
// of bytes says how far to read, and no time has to pass to be sure.
func (c *capture) drain(f func()) {
	c.mu.Lock()
	finished := c.finished
	if !finished {
		c.drainers = append(c.drainers, f)
	}
	c.mu.Unlock()
	if finished { // nobody else held the pipe
		f()
		return
	}
	c.interrupt()
}

// finish is the end of run.
func (c *capture) finish() {
	c.mu.Lock()
	c.finished = true
	drainers := c.drainers
	c.drainers = nil
	c.mu.Unlock()
	for _, drained := range drainers {
		drained()
	}
}

func (c *capture) over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.finished
}

// stop drains, ends the capture whoever still holds the pipe, and returns when it has ended.
func (c *capture) stop() {
	c.mu.Lock()
	c.stopping = true
	c.mu.Unlock()
	c.interrupt()
	<-c.ended
}

// interrupt makes a Read return now, and the next one if none is under way: a deadline in the past.
func (c *capture) interrupt() { c.pipe.SetReadDeadline(time.Unix(1, 0)) }

// interrupted does what interrupts were for, and reports whether to go on.
func (c *capture) interrupted() bool {
	for again := true; again; {
		// In this order: an interrupt that comes after the deadline is lifted makes itself heard again, and
		// one that came before has put down what it wants.
		c.pipe.SetReadDeadline(time.Time{})
		c.mu.Lock()
		drainers := c.drainers
		c.drainers = nil
		c.mu.Unlock()
		again = c.readExactly(unread(c.pipe))
		for _, drained := range drainers {
			drained()
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.stopping
}

// readExactly reads bytes that lie in the pipe already, so that no Read waits, and reports whether there
// was another interrupt meanwhile.
func (c *capture) readExactly(left int, err error) (again bool) {
	for left > 0 && err == nil {
		var n int
		n, err = readPipe(c.pipe, c.ring.reserve(min(left, maxReserve)))
		c.ring.commit(n)
		left -= n
		if errors.Is(err, os.ErrDeadlineExceeded) {
			c.pipe.SetReadDeadline(time.Time{})
			again, err = true, nil
		}
	}
	return again
}
