package acpterm

// Where the next line of a connection is waited for. The goroutine that reads it does so in Go's poller; but when it has
// served a request for a terminal, the next one is likely to follow, and is waited for and served by the manager's thread
// (loop_linux.go), until a line comes that is not for it. That spares each such request two changes of threads. It
// knows descriptors and turns, and nothing of lines.

import (
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// requests has a connection read by turns: by one goroutine, and, while that is in await, by the manager's thread.
type requests struct {
	loop  *loop                                           // the manager's
	serve func(read func([]byte) (int, error)) (all bool) // reads, and serves what there is; false: some of it is not for the thread
	fd    int                                             // of the same pipe as the connection's
	back  chan struct{}                                   // it is the goroutine's turn

	mu      sync.Mutex // held over system calls, none of which waits
	waiting bool       // it is the thread's turn, when something can be read
	serving bool       // it is the thread's turn, and it is on
	over    bool       // it is the goroutine's turn from now on
}

// newRequests returns nil if a connection is not known to be one that can be read so: two pipes, of which this is the one
// that is read from.
func newRequests(conn io.ReadWriteCloser, l *loop, serve func(read func([]byte) (int, error)) bool) *requests {
	joined, ok := conn.(*stdio)
	if !ok {
		return nil
	}
	file, ok := joined.ReadCloser.(*os.File)
	if !ok {
		return nil
	}
	raw, err := file.SyscallConn()
	if err != nil {
		return nil
	}
	fd := -1
	raw.Control(func(theirs uintptr) { fd = duplicatePipe(int(theirs)) })
	if fd < 0 {
		return nil
	}
	r := &requests{loop: l, serve: serve, fd: fd, back: make(chan struct{}, 1)}
	go func() {
		// A pipe's reading end is never ready to be written to, so this returns when the file is closed, by whomever.
		raw.Write(func(uintptr) (done bool) { return false })
		r.end()
	}()
	return r
}

// duplicatePipe returns another descriptor of a pipe in non-blocking mode; -1 if it is none.
func duplicatePipe(fd int) int {
	var status unix.Stat_t
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_NONBLOCK == 0 || unix.Fstat(fd, &status) != nil || status.Mode&unix.S_IFMT != unix.S_IFIFO {
		return -1
	}
	other, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	return other
}

// await leaves reading to the thread, and returns when that has found something that is not for it, or the connection was
// closed. After end it returns at once.
func (r *requests) await() {
	if r.leaveTurn() {
		<-r.back
	}
}

// leaveTurn makes it the thread's turn, if it can be.
func (r *requests) leaveTurn() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting = !r.over && r.loop.watchOnce(r.fd, r.readable) == nil
	return r.waiting
}

// readable is called on the thread.
func (r *requests) readable() {
	r.mu.Lock()
	begun := r.waiting
	r.waiting, r.serving = false, begun
	r.mu.Unlock()
	if !begun {
		return
	}
	if all := r.serve(r.readOnce()); !r.serveOn(all) {
		r.back <- struct{}{}
	}
}

// serveOn ends a turn of the thread's, and says whether the next one is, too.
func (r *requests) serveOn(all bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.serving = false
	if r.over {
		r.closeLocked()
		return false
	}
	r.waiting = all && r.loop.watchOnce(r.fd, r.readable) == nil
	return r.waiting
}

// readOnce returns what reads as io.Reader does, and the second time nothing.
func (r *requests) readOnce() func(p []byte) (int, error) {
	done := false
	return func(p []byte) (int, error) {
		if done {
			return 0, errNotYet
		}
		done = true
		n, err := retry(func() (int, error) { return unix.Read(r.fd, p) })
		switch {
		case err == unix.EAGAIN:
			return 0, errNotYet
		case err != nil:
			return 0, os.NewSyscallError("read", err)
		case n == 0:
			return 0, io.EOF
		}
		return n, nil
	}
}

// end makes it the goroutine's turn for good. A second one does nothing.
func (r *requests) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return
	}
	r.over = true
	if r.waiting {
		r.waiting = false
		r.back <- struct{}{} // which has room for it
	}
	if !r.serving {
		r.closeLocked()
	}
}

func (r *requests) closeLocked() {
	r.loop.forget(r.fd)
	unix.Close(r.fd)
}
