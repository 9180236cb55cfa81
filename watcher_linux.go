package acpterm

// How the commands of a manager are seen to exit and to write, without a thread or a goroutine for each: their pidfds and
// their pipes are in one epoll instance, which Go's poller watches in turn. It knows descriptors, and neither processes
// nor output.

import (
	"errors"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// watcher calls functions when descriptors become readable, from one goroutine. The zero value is ready; the goroutine is
// there from the first watch on. Its methods may be called concurrently, but no watch after close.
type watcher struct {
	busy sync.WaitGroup

	mu      sync.Mutex
	queue   *os.File // the epoll instance; nil before the first watch
	watched map[int32]func()
}

// watch has a function called each time that there is something new to be read from a descriptor, or its end (EPOLLET): if
// there is already, too. Now and then it is called without a reason, for what happened to an earlier descriptor with that
// number. It must not wait.
func (w *watcher) watch(fd int, f func()) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.queue == nil {
		if err := w.openLocked(); err != nil {
			return err
		}
	}
	raw, err := w.queue.SyscallConn()
	if err != nil {
		return err
	}
	w.watched[int32(fd)] = f
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET&(1<<32-1), Fd: int32(fd)}
	controlErr := raw.Control(func(queue uintptr) { err = unix.EpollCtl(int(queue), unix.EPOLL_CTL_ADD, fd, &event) })
	if err = errors.Join(controlErr, err); err != nil {
		delete(w.watched, int32(fd))
	}
	return err
}

func (w *watcher) openLocked() error {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return err
	}
	if err := unix.SetNonblock(fd, true); err != nil { // which says that Go's poller can have it
		unix.Close(fd)
		return err
	}
	w.queue = os.NewFile(uintptr(fd), "watcher")
	w.watched = make(map[int32]func())
	raw, err := w.queue.SyscallConn()
	if err != nil {
		return err
	}
	w.busy.Go(func() {
		raw.Read(func(fd uintptr) (done bool) {
			for w.round(int(fd)) {
			}
			return false // until the file is closed
		})
	})
	return nil
}

// round calls what is to be called now, and reports whether there may be more.
func (w *watcher) round(queue int) bool {
	var events [16]unix.EpollEvent
	n, err := retry(func() (int, error) { return unix.EpollWait(queue, events[:], 0) })
	if err != nil || n == 0 {
		return false
	}
	for _, event := range events[:n] {
		w.mu.Lock()
		f := w.watched[event.Fd]
		w.mu.Unlock()
		if f != nil {
			f()
		}
	}
	return n == len(events)
}

// leave ends the watch of a descriptor that stays open.
func (w *watcher) leave(fd int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.watched, int32(fd))
	if raw, err := w.queue.SyscallConn(); err == nil {
		raw.Control(func(queue uintptr) { unix.EpollCtl(int(queue), unix.EPOLL_CTL_DEL, fd, nil) })
	}
}

// forget ends the watch of a descriptor that is about to be closed.
func (w *watcher) forget(fd int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.watched, int32(fd))
}

// close ends the goroutine, and gives back what it holds.
func (w *watcher) close() {
	if w.queue != nil {
		w.queue.Close()
		w.busy.Wait()
	}
}
