package acpterm

// How the commands of a manager are seen to exit, without a thread or a goroutine for each: their pidfds are in one epoll
// instance, which Go's poller watches in turn. It knows descriptors and nothing of processes.

import (
	"errors"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// exits calls functions when pidfds become readable, from one goroutine. The zero value is ready; the goroutine is there
// from the first watch on. Its methods may be called concurrently, but no watch after close.
type exits struct {
	busy sync.WaitGroup

	mu      sync.Mutex
	queue   *os.File // the epoll instance; nil before the first watch
	watched map[int32]func() (done bool)
}

// watch has a function called when a pidfd is readable, and again if it then says that it is not done. The function must
// not wait. A pidfd is forgotten before it is called, and when it is closed.
func (x *exits) watch(pidfd int, f func() (done bool)) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.queue == nil {
		if err := x.openLocked(); err != nil {
			return err
		}
	}
	x.watched[int32(pidfd)] = f
	err := x.arm(unix.EPOLL_CTL_ADD, pidfd)
	if err != nil {
		delete(x.watched, int32(pidfd))
	}
	return err
}

func (x *exits) openLocked() error {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return err
	}
	if err := unix.SetNonblock(fd, true); err != nil { // which says that Go's poller can have it
		unix.Close(fd)
		return err
	}
	x.queue = os.NewFile(uintptr(fd), "exits")
	x.watched = make(map[int32]func() bool)
	raw, err := x.queue.SyscallConn()
	if err != nil {
		return err
	}
	x.busy.Go(func() {
		raw.Read(func(fd uintptr) (done bool) {
			for x.round(int(fd)) {
			}
			return false // until the file is closed
		})
	})
	return nil
}

// arm has the queue report a pidfd, once.
func (x *exits) arm(add, pidfd int) error {
	raw, err := x.queue.SyscallConn()
	if err != nil {
		return err
	}
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLONESHOT, Fd: int32(pidfd)}
	controlErr := raw.Control(func(fd uintptr) { err = unix.EpollCtl(int(fd), add, pidfd, &event) })
	return errors.Join(controlErr, err)
}

// round calls what is to be called now, and reports whether there may be more.
func (x *exits) round(queue int) bool {
	var events [16]unix.EpollEvent
	n, err := retry(func() (int, error) { return unix.EpollWait(queue, events[:], 0) })
	if err != nil || n == 0 {
		return false
	}
	for _, event := range events[:n] {
		x.mu.Lock()
		f := x.watched[event.Fd]
		delete(x.watched, event.Fd)
		x.mu.Unlock()
		if f == nil || f() {
			continue
		}
		x.mu.Lock() // the event was of an earlier pidfd with that number
		x.watched[event.Fd] = f
		x.arm(unix.EPOLL_CTL_MOD, int(event.Fd))
		x.mu.Unlock()
	}
	return true
}

// forget ends the watch of a pidfd that is about to be closed.
func (x *exits) forget(pidfd int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.watched, int32(pidfd))
}

// close ends the goroutine, and gives back what it holds.
func (x *exits) close() {
	if x.queue != nil {
		x.queue.Close()
		x.busy.Wait()
	}
}
