package acpterm

// Output that nobody has asked for yet, in the kernel's memory. To copy output into the ring buffer and overwrite it there a
// megabyte later is most of what a fast command's output costs. So its pages are moved from its pipe into pipes of our own,
// which copies nothing (man 2 splice), and there dropped when they are too old; what is left is copied into the ring when
// somebody looks, or the command goes slower. It knows pipes and bytes, nothing of commands.
//
// A page may be more than output: of a command that has spliced a file into it (sendfile), it is the file's. It shows what the
// file holds when it is copied, as it would to any reader who is slower by as much; it is parked as long as the command writes
// without a pause of some milliseconds.

import (
	"errors"

	"golang.org/x/sys/unix"
)

const (
	// spaceSize is how many bytes a space holds at the most. Too many are parked by up to as much.
	spaceSize = 256 << 10

	// mostSpaces is where parking ends: with limits of more than two megabytes. A user has an allowance of wide pipes, 64 MiB
	// in all (man 7 pipe, pipe-user-pages-soft).
	mostSpaces = 10

	pageSize = 4 << 10 // what a pipe's place holds; on some machines more
)

// errNoParking says that output has to be copied.
var errNoParking = errors.New("output cannot be parked")

// errParkingFull says that there is no room until parking has been trimmed.
var errParkingFull = errors.New("no room to park output")

// parking is a row of pipes. It is the writer's: take is for one goroutine, and what is under the ring's lock is changed by
// that one alone, but for sizes, which others reduce when they fetch.
type parking struct {
	null int // where what is too old goes
	into int // the writing end of the last space in use
	took int // bytes since it is that
	full bool

	// Under the ring buffer's lock.
	used []space // the oldest first; the last one takes what comes
	free []space
}

// space is a pipe with size bytes in it.
type space struct{ from, to, size int }

// newParking returns room for the last keep bytes. Its error is errNoParking.
func newParking(keep int64) (*parking, error) {
	spaces := (keep+spaceSize-1)/spaceSize + 1
	if spaces > mostSpaces {
		return nil, errNoParking
	}
	null, err := unix.Open("/dev/null", unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, errNoParking
	}
	p := &parking{null: null}
	for range spaces {
		var ends [2]int
		if unix.Pipe2(ends[:], unix.O_CLOEXEC|unix.O_NONBLOCK) != nil {
			p.close()
			return nil, errNoParking
		}
		p.free = append(p.free, space{from: ends[0], to: ends[1]})
		if _, err := unix.FcntlInt(uintptr(ends[1]), unix.F_SETPIPE_SZ, spaceSize); err != nil {
			p.close()
			return nil, errNoParking
		}
	}
	p.rotate()
	return p, nil
}

// close gives the pipes back. Nothing is to be parked in them.
func (p *parking) close() {
	unix.Close(p.null)
	for _, s := range append(p.used, p.free...) {
		unix.Close(s.from)
		unix.Close(s.to)
	}
}

// room is how many bytes take takes at the most.
func (p *parking) room() int { return spaceSize - p.took }

// take moves output from a pipe without waiting, and returns how many bytes it was, 0 at the end of the output. Its errors are
// EAGAIN, errParkingFull and errNoParking. The bytes are parked when the ring buffer has been told.
func (p *parking) take(pipe int) (int, error) {
	n, err := spliceNow(pipe, p.into, p.room())
	switch {
	case err == unix.EAGAIN && p.took > 0: // nothing has come, or it has no room for what has
		if waiting, err := unix.IoctlGetInt(pipe, fionread); err == nil && waiting > 0 {
			p.full = true
			return 0, errParkingFull
		}
		return 0, unix.EAGAIN
	case err == unix.EAGAIN:
		return 0, err
	case err != nil:
		return 0, errNoParking
	}
	p.took += n
	return n, nil
}

// add counts bytes that were taken.
func (p *parking) add(n int) { p.used[len(p.used)-1].size += n }

// size is how many bytes are parked.
func (p *parking) size() int64 {
	sum := 0
	for _, s := range p.used {
		sum += s.size
	}
	return int64(sum)
}

// trim drops the oldest bytes as long as the last keep stay, and sees that there is room for more. It reports whether it
// could: if not, all has to be fetched.
func (p *parking) trim(keep int64) bool {
	for len(p.used) > 1 && (p.used[0].size == 0 || p.size()-int64(p.used[0].size) >= keep) {
		if !p.used[0].drop(p.null) {
			return false
		}
		p.free = append(p.free, p.used[0])
		p.used = p.used[:copy(p.used, p.used[1:])]
	}
	if p.full || p.took > spaceSize-pageSize {
		return p.rotate()
	}
	return true
}

// rotate begins to use another space, if one is free.
func (p *parking) rotate() bool {
	if len(p.free) == 0 {
		return false
	}
	last := len(p.free) - 1
	p.used, p.free = append(p.used, p.free[last]), p.free[:last]
	p.into, p.took, p.full = p.used[len(p.used)-1].to, 0, false
	return true
}

// drop empties a space, and reports whether it could.
func (s *space) drop(null int) bool {
	for s.size > 0 {
		n, err := spliceNow(s.from, null, s.size)
		if err != nil || n == 0 {
			return false
		}
		s.size -= n
	}
	return true
}

func spliceNow(from, to, size int) (int, error) {
	return retry(func() (int, error) {
		n, err := unix.Splice(from, nil, to, nil, size, unix.SPLICE_F_NONBLOCK)
		return int(n), err
	})
}

// fetch fills b with the oldest bytes, of which there are as many, and which are not parked any more.
func (p *parking) fetch(b []byte) {
	for i := range p.used {
		s := &p.used[i]
		for s.size > 0 && len(b) > 0 {
			piece := b[:min(len(b), s.size)]
			n, err := retry(func() (int, error) { return unix.Read(s.from, piece) })
			if err != nil || n == 0 { // as if a stranger has closed our descriptors
				clear(piece)
				n = len(piece)
			}
			s.size -= n
			b = b[n:]
		}
	}
}

// full reports whether the buffer has its size for good, so that what is parked has room in it.
func (r *ringBuffer) full() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return int64(len(r.buf)) >= r.keep && r.end >= r.keep
}

// park is commit for n bytes that p has, and not the buffer, which is to be full.
func (r *ringBuffer) park(p parkedOutput, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.add(n)
	r.end += int64(n)
	r.parked = p
	if !p.trim(r.keep) {
		r.fetchLocked()
		p.trim(r.keep)
	}
	if n > 0 {
		r.wakeLocked()
	}
}

// fetch has all bytes in the buffer.
func (r *ringBuffer) fetch() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fetchLocked()
}
