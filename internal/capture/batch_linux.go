package capture

// Reading from a pipe in batches, for commands that write in small pieces.

import (
	"cmp"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// pending returns the number of unread bytes in a pipe (man 2 ioctl_tty: FIONREAD is TIOCINQ). unix.IoctlGetInt would
// return the upper half of an int on a big-endian processor.
func pending(pipe int) (int, error) {
	n, err := unix.IoctlGetUint32(pipe, unix.TIOCINQ)
	return int(n), err
}

// readBatched reads once every pauseTime, until a read returns less than littleBytes or a full pipe, or until it is
// interrupted. Meanwhile the pipe is not in Go's poller, where each write would wake a thread. It sleeps with
// nanosleep, because a Go timer would wait in the poller for at least a millisecond.
func (r *Reader) readBatched() {
	fd, err := r.takeOut()
	if err != nil { // out of descriptors
		time.Sleep(pauseTime)
		return
	}
	room, err := unix.FcntlInt(uintptr(fd), unix.F_GETPIPE_SZ, 0)
	if err != nil {
		room = maxRead
	}
	for n := littleBytes; littleBytes <= n && n < min(room, maxRead) && !r.interrupted(); {
		pause := unix.NsecToTimespec(int64(pauseTime))
		unix.Nanosleep(&pause, nil) // a signal may interrupt it
		n, _ = unix.Read(fd, r.sink.Reserve(maxRead))
		r.sink.Commit(max(n, 0))
	}
	r.putBack(fd)
}

// takeOut closes the file, which removes the pipe from Go's poller, and returns a duplicate descriptor.
func (r *Reader) takeOut() (fd int, err error) {
	raw, err := r.pipe.SyscallConn()
	if err != nil {
		return -1, err
	}
	controlErr := raw.Control(func(pipe uintptr) { fd, err = unix.FcntlInt(pipe, unix.F_DUPFD_CLOEXEC, 0) })
	if controlErr != nil || err != nil {
		return -1, cmp.Or(controlErr, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pipe.Close()
	r.pipe = nil
	return fd, nil
}

func (r *Reader) putBack(fd int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pipe = os.NewFile(uintptr(fd), "output")
	if r.stopping || len(r.drains) > 0 {
		r.pipe.SetReadDeadline(past)
	}
}

// interrupted reports whether a Drain or Stop is pending.
func (r *Reader) interrupted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stopping || len(r.drains) > 0
}
