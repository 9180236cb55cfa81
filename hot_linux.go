package acpterm

// The output of commands that write without end: hot pipes. Whoever reads as soon as there is something has a command that
// writes little at a time wake its reader with each write, and one that writes much wait for the pipe's lock. So a hot pipe is
// read when more has come together, after short naps; and what comes in large pieces is not copied but parked (parking_linux.go).
// In between, some kilobytes at a time, nothing is faster than to read at once. It knows pipes and the ring buffer, nothing of
// processes.

import (
	"io"
	"math"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// fewNapping pipes are read so at once: each has a thread while it naps, and wakes it some thousand times a second.
	fewNapping = 2

	// fairReads are made until other goroutines have their turn: a thread that naps may keep them from running. It wakes another
	// thread each time.
	fairReads = 8

	// fewWide pipes are made wider for good. A user has an allowance of wide pipes, 64 MiB in all (man 7 pipe,
	// pipe-user-pages-soft).
	fewWide = 8

	// wideSize is how many bytes a pipe holds that was made wider for good. Were it more, the command's pages and the ring
	// buffer would not fit into the processor's nearer caches. hotSize is for one whose reader naps.
	wideSize = 128 << 10
	hotSize  = 1 << 20
)

// manner is how a hot pipe is read. The sizes are bytes at once.
type manner struct {
	nap    time.Duration // for so long the command is left to write, and for some 55 µs more, since the kernel gathers timers
	vain   int           // after so many in vain the pipe is not hot any more: milliseconds, in which who has no processor gets one
	worth  int           // less, and a nap was in vain
	enough int           // it is read again without a nap
	most   int           // more than that on average, or
	least  int           // smaller writes than that tell against this manner:
	doubts int           // so often in a row, since a command that was held up looks like another one, and it is wrong
}

var (
	copying = manner{
		nap: 100 * time.Microsecond, vain: 32,
		worth: 1, enough: maxReserve, most: hotSize / 4, doubts: 3,
	}
	tryingToCopy = copying.given(8, 1)
	parkingMuch  = manner{
		nap: 20 * time.Microsecond, vain: 64,
		worth: maxReserve / 2, enough: hotSize / 2, most: math.MaxInt, least: amplyLeast, doubts: 3,
	}
)

// given is the same with another patience.
func (m manner) given(vain, doubts int) manner {
	m.vain, m.doubts = vain, doubts
	return m
}

// hotPipes counts those of one manager. The zero value is ready, and nil has none. Its methods may be called concurrently.
type hotPipes struct {
	napping, wide atomic.Int32
	copied        atomic.Bool // all output is to be: the system refuses what parking takes
}

// widen makes a pipe wider that is read at once: its command then goes on writing while its output is taken, and neither
// waits for the other each time. leave is to be called when it is closed. Where the system refuses, the pipe stays as it is.
func (h *hotPipes) widen(pipe *os.File) (leave func()) {
	if h == nil {
		return func() {}
	}
	if raw, err := pipe.SyscallConn(); err == nil && h.wide.Add(1) <= fewWide {
		raw.Control(func(fd uintptr) { resize(fd, wideSize) })
	}
	return func() { h.wide.Add(-1) }
}

// crowd reports whether so many nap that nobody may be left to run Go code.
func (h *hotPipes) crowd() bool { return int(h.napping.Load()) >= runtime.GOMAXPROCS(0) }

// read moves a pipe's output into a ring buffer as long as its command goes on as it did. It returns errPause when that pauses;
// errWrongManner when this should not be tried again; nil if it is not tried, as when enough others are hot; and else why nothing more
// can be read, as readPipe does.
func (h *hotPipes) read(speed speed, pipe rawReader, ring *ringBuffer) error {
	if h == nil || speed == moderate {
		return nil
	}
	defer h.napping.Add(-1)
	if h.napping.Add(1) > fewNapping {
		return nil
	}
	copied := func(fd int) (n, room int, err error) { return copyOutput(fd, ring, maxReserve) }
	switch speed {
	case often:
		return copying.read(h, pipe, copied)
	case unknown:
		return tryingToCopy.read(h, pipe, copied)
	}
	return h.readParking(pipe, ring)
}

// readParking is read for output in large pieces.
func (h *hotPipes) readParking(pipe rawReader, ring *ringBuffer) error {
	if h.copied.Load() || !ring.full() { // what is parked has to have room in the buffer
		return nil
	}
	parking, err := newParking(ring.keep)
	if err != nil {
		return nil
	}
	defer parking.close()
	defer ring.fetch()
	err = parkingMuch.read(h, pipe, func(fd int) (int, int, error) { return parkOutput(fd, parking, ring) })
	if err == errNoParking {
		h.copied.Store(true)
		return nil
	}
	return err
}

// takeFunc moves what lies in a pipe without waiting. It returns how many bytes it was, which is 0 at the end of the output, and
// how many there was room for. Its error is EAGAIN if there is nothing.
type takeFunc func(fd int) (n, room int, err error)

// read takes output, and naps, as long as something comes of it. It returns errPause, errWrongManner, or why nothing more can be
// read.
func (m manner) read(h *hotPipes, pipe rawReader, take takeFunc) error {
	var size int
	closed := pipe.Control(func(fd uintptr) {
		size, _ = unix.FcntlInt(fd, unix.F_GETPIPE_SZ, 0)
		resize(fd, hotSize)
	})
	if closed != nil {
		return closed
	}
	defer pipe.Control(func(fd uintptr) { resize(fd, size) }) // the system refuses it if more is in there

	var n, room int
	var err error
	once := func(fd uintptr) (done bool) { // made once: it takes memory each time
		n, room, err = take(int(fd))
		return true
	}

	var watch watch
	for naps, reads := 0, 0; naps < m.vain; {
		if closed := pipe.Read(once); closed != nil {
			return closed
		}
		switch {
		case err == unix.EAGAIN:
		case err != nil:
			return err
		case n == 0:
			return io.EOF
		case watch.wrong(m, n, n < room):
			return errWrongManner
		}
		if naps++; n >= m.worth {
			naps = 0
		}
		if n < m.enough && n < room {
			m.takeNap()
		}
		if reads++; reads%fairReads == 0 || h.crowd() {
			runtime.Gosched()
		}
	}
	return errPause
}

// watch sees whether a command writes as was thought, by the pieces that come between two moments when nothing was left in
// the pipe: whole writes.
type watch struct {
	begun   bool // there was such a moment
	piece   int  // bytes since
	pieces  int
	bytes   int // in them
	divisor int // of them all: the size of the command's writes, if they are alike
	against int // how often in a row they told against the manner
}

const watchedPieces = 4 // are looked at together

// wrong counts a read, which may have left nothing in the pipe, and reports whether the manner is wrong.
func (w *watch) wrong(m manner, n int, whole bool) bool {
	w.piece += n
	if !whole {
		return false
	}
	if w.begun {
		w.pieces++
		w.bytes += w.piece
		w.divisor = commonDivisor(w.piece, w.divisor)
	}
	w.begun, w.piece = true, 0
	if w.pieces < watchedPieces {
		return false
	}
	w.against++
	if w.bytes/w.pieces <= m.most && w.divisor >= m.least {
		w.against = 0
	}
	w.pieces, w.bytes, w.divisor = 0, 0, 0
	return w.against == m.doubts
}

func commonDivisor(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// parkOutput is a takeFunc, whose error may be errNoParking too.
func parkOutput(fd int, parking *parking, ring *ringBuffer) (n, room int, err error) {
	room = parking.room()
	n, err = parking.take(fd)
	if err == errParkingFull {
		ring.park(parking, 0)
		room = parking.room()
		if n, err = parking.take(fd); err == errParkingFull {
			err = errNoParking
		}
	}
	if n > 0 {
		ring.park(parking, n)
	}
	return n, room, err
}

func (m manner) takeNap() {
	spec := unix.NsecToTimespec(int64(m.nap))
	unix.Nanosleep(&spec, nil)
}

func resize(fd uintptr, size int) { unix.FcntlInt(fd, unix.F_SETPIPE_SZ, size) }
