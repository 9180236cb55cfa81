package acpterm

// The output of a command that writes little, which most do, or nothing: it is read where it is seen, on the manager's thread, and
// by whoever has to know that all is read. What turns out to be more gets a goroutine of its own: for a hot pipe, which no
// poller watches, since that would hear of each write; and else for a capture. It knows descriptors and bytes, nothing of
// processes.

import (
	"errors"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// quiet is a source. Its methods may be called concurrently.
type quiet struct {
	pipe *outputEnd
	ring *ringBuffer
	hot  *hotPipes // the manager's
	loop *loop     // the manager's
	busy *sync.WaitGroup

	mu      sync.Mutex // held over reads, none of which waits
	pieces  int        // that were read
	pace    pace
	large   bool     // there was a large piece
	much    bool     // there is a goroutine, run
	ended   bool     // the ring is closed, and so is the pipe
	capture *capture // who reads from now on; nil while nobody does
}

const (
	quietPieces = 3 * speedReads // are read so at the most
	quietSize   = 16 << 10       // bytes at once; what had more to say will go on
)

func (g *procGroup) source(ring *ringBuffer, hot *hotPipes) source {
	return &quiet{pipe: g.output, ring: ring, hot: hot, loop: g.trees.loop}
}

func (q *quiet) begin(busy *sync.WaitGroup) {
	busy.Add(1) // until it has ended
	q.mu.Lock()
	defer q.mu.Unlock()
	q.busy = busy
	q.watchLocked()
}

// watchLocked has what little comes read where it is seen.
func (q *quiet) watchLocked() {
	q.pieces, q.much = 0, false
	if q.loop.watch(q.pipe.fd, func() { q.read() }) != nil {
		q.muchLocked(moderate)
	}
}

// unlessCaptured calls f with the lock held, unless it has ended or there is a capture. It returns the capture that there is
// then.
func (q *quiet) unlessCaptured(f func()) *capture {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.ended && q.capture == nil {
		f()
	}
	return q.capture
}

// read moves what lies in the pipe into the ring, unless there is a capture for that, which it returns.
func (q *quiet) read() *capture { return q.unlessCaptured(q.readLocked) }

func (q *quiet) readLocked() {
	if q.much {
		q.readExactlyLocked()
		return
	}
	for size := minReserve; ; size *= 2 {
		n, room, err := copyOutput(q.pipe.fd, q.ring, size)
		switch {
		case errors.Is(err, unix.EAGAIN):
			return
		case err != nil || n == 0: // all who could write have closed it
			q.endLocked()
			return
		case q.pace.read(n) == often:
			q.muchLocked(often)
			return
		case size > quietSize && !q.large: // it may have been written little at a time, and is seen late
			q.large = true
			q.muchLocked(unknown)
			return
		case q.pieces > quietPieces || size > quietSize:
			q.muchLocked(moderate)
			return
		case n < room: // there was no more
			q.pieces++
			return
		}
	}
}

// copyOutput moves up to size bytes from a pipe into a ring buffer, without waiting. It returns how many it were, which is 0 at the
// end of the output, and how many there was room for. Its error is EAGAIN if there is nothing.
func copyOutput(fd int, ring *ringBuffer, size int) (n, room int, err error) {
	memory := ring.reserve(size)
	n, err = retry(func() (int, error) { return unix.Read(fd, memory) })
	n = max(n, 0)
	ring.commit(n)
	return n, len(memory), err
}

// readExactlyLocked reads what lies in the pipe now, and little of what comes meanwhile.
func (q *quiet) readExactlyLocked() {
	for left, err := unix.IoctlGetInt(q.pipe.fd, fionread); err == nil; {
		var n int
		n, _, err = copyOutput(q.pipe.fd, q.ring, min(max(left, minReserve), maxReserve))
		switch left -= n; {
		case err == nil && n == 0: // all who could write have closed it
			q.endLocked()
			return
		case left < 0:
			return
		}
	}
}

func (q *quiet) endLocked() {
	q.ended = true
	q.loop.forget(q.pipe.fd)
	q.pipe.Close()
	q.ring.close()
	q.busy.Done()
}

// muchLocked has a goroutine go on.
func (q *quiet) muchLocked(speed speed) {
	q.loop.leave(q.pipe.fd)
	q.much = true
	q.busy.Go(func() { q.run(speed) })
}

// run is the goroutine.
func (q *quiet) run(speed speed) {
	err := q.hot.read(speed, unwatched{q}, q.ring)
	c := q.unlessCaptured(func() {
		switch err {
		case errPause: // a command that waits for a processor looks so, too, and is not worse off when it goes on
			q.watchLocked()
		case nil, errWrongManner:
			q.capture = newCapture(q.pipe.file(), q.ring, q.hot)
		default:
			q.endLocked()
		}
	})
	if c != nil {
		defer q.busy.Done()
		c.run()
	}
}

// unwatched is a quiet's rawReader. What it calls excludes all other reads.
type unwatched struct{ *quiet }

func (u unwatched) Control(f func(fd uintptr)) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.ended {
		return os.ErrClosed
	}
	f(uintptr(u.pipe.fd))
	return nil
}

func (u unwatched) Read(f func(fd uintptr) (done bool)) error {
	return u.Control(func(fd uintptr) { f(fd) })
}

// drain is exact: what a process wrote before it exited lies in the pipe when its exit is seen.
func (q *quiet) drain(f func()) {
	if c := q.read(); c != nil {
		c.drain(f)
		return
	}
	f()
}

func (q *quiet) stop() {
	q.read()
	if c := q.unlessCaptured(q.endLocked); c != nil {
		c.stop()
	}
}

func (q *quiet) over() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.capture != nil {
		return q.capture.over()
	}
	return q.ended
}

// outputEnd is the reading end of a command's output.
type outputEnd struct {
	fd int

	mu     sync.Mutex // held over system calls, none of which waits
	opened *os.File   // the same for Go's poller; nil before it is wanted
	closed bool
}

// outputPipe is a pipe whose ends Go's poller does not have: the one for the command must block.
func outputPipe() (*outputEnd, descriptor, error) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		return nil, -1, os.NewSyscallError("pipe2", err)
	}
	if _, err := unix.FcntlInt(uintptr(ends[0]), unix.F_SETFL, unix.O_NONBLOCK); err != nil {
		unix.Close(ends[0])
		unix.Close(ends[1])
		return nil, -1, os.NewSyscallError("fcntl", err)
	}
	return &outputEnd{fd: ends[0]}, descriptor(ends[1]), nil
}

// descriptor is what an os.File is, and less: to make one of those takes longer than a system call.
type descriptor int

func (d descriptor) Fd() uintptr  { return uintptr(d) }
func (d descriptor) Close() error { return unix.Close(int(d)) }

// file is the same in Go's poller. It is to be closed in the place of this.
func (e *outputEnd) file() *os.File {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.opened = os.NewFile(uintptr(e.fd), "output")
	return e.opened
}

// number is what /proc calls the pipe; 0 when it is closed.
func (e *outputEnd) number() uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	var status unix.Stat_t
	switch {
	case e.closed:
		return 0
	case e.opened != nil:
		return pipeNumber(e.opened)
	case unix.Fstat(e.fd, &status) != nil:
		return 0
	}
	return status.Ino
}

func (e *outputEnd) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return os.ErrClosed
	}
	e.closed = true
	return unix.Close(e.fd)
}
