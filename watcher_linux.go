package acpterm

// What a manager's thread waits for when it has nothing to do: the descriptors of its commands and connections, all in one
// epoll instance, together with one by which it is woken. It knows descriptors, and neither processes nor output.

import (
	"sync"

	"golang.org/x/sys/unix"
)

// watcher calls functions when descriptors become readable. The zero value is ready, and has nothing open before the first
// watch. Its methods may be called concurrently, but round only by one at a time, and none after close.
type watcher struct {
	events [16]unix.EpollEvent // round's

	mu      sync.Mutex // held over system calls, none of which waits
	watched map[int32]func()
	opened  bool
	queue   int // the epoll instance
	bell    int // an eventfd in it
}

// watch has a function called by round each time that there is something new to be read from a descriptor (EPOLLET).
func (w *watcher) watch(fd int, f func()) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.openLocked(); err != nil {
		return err
	}
	return w.addLocked(fd, unix.EPOLL_CTL_ADD, unix.EPOLLET&(1<<32-1), f)
}

// watchOnce has a function called by round once, when there is something to be read.
func (w *watcher) watchOnce(fd int, f func()) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.openLocked(); err != nil {
		return err
	}
	err := w.addLocked(fd, unix.EPOLL_CTL_MOD, unix.EPOLLONESHOT, f)
	if err == unix.ENOENT {
		err = w.addLocked(fd, unix.EPOLL_CTL_ADD, unix.EPOLLONESHOT, f)
	}
	return err
}

func (w *watcher) addLocked(fd, operation int, mode uint32, f func()) error {
	w.watched[int32(fd)] = f
	err := unix.EpollCtl(w.queue, operation, fd, &unix.EpollEvent{Events: unix.EPOLLIN | mode, Fd: int32(fd)})
	if err != nil {
		delete(w.watched, int32(fd))
	}
	return err
}

// openLocked opens what is needed, unless it is open.
func (w *watcher) openLocked() error {
	if w.opened {
		return nil
	}
	queue, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return err
	}
	bell, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		unix.Close(queue)
		return err
	}
	w.queue, w.bell, w.watched = queue, bell, make(map[int32]func())
	if err := w.addLocked(bell, unix.EPOLL_CTL_ADD, unix.EPOLLET&(1<<32-1), func() {}); err != nil {
		unix.Close(bell)
		unix.Close(queue)
		return err
	}
	w.opened = true
	return nil
}

// open reports whether there may be something to watch.
func (w *watcher) open() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.opened
}

// ready reports whether a round would call something.
func (w *watcher) ready() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.opened && isReadable(w.queue)
}

// wake has a round that waits return.
func (w *watcher) wake() {
	one := [8]byte{1} // whatever the order of bytes; that a count is full takes longer than a machine lasts
	unix.Write(w.bell, one[:])
}

// round calls what is to be called, after it has waited for that if it is to wait, and has said that it waits no more. It
// may be called while a watch is added, and the watcher is open. It reports whether there was anything.
func (w *watcher) round(wait bool, awake func()) bool {
	timeout := 0
	if wait {
		timeout = -1
	}
	n, _ := retry(func() (int, error) { return unix.EpollWait(w.queue, w.events[:], timeout) })
	awake()
	for _, event := range w.events[:max(n, 0)] {
		w.mu.Lock()
		f := w.watched[event.Fd]
		w.mu.Unlock()
		if f != nil {
			f()
		}
	}
	return n > 0
}

// leave ends the watch of a descriptor that stays open.
func (w *watcher) leave(fd int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.watched, int32(fd))
	unix.EpollCtl(w.queue, unix.EPOLL_CTL_DEL, fd, nil)
}

// forget ends the watch of a descriptor that is about to be closed.
func (w *watcher) forget(fd int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.watched, int32(fd))
}

// close gives back what is held.
func (w *watcher) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.opened {
		w.opened = false
		unix.Close(w.bell)
		unix.Close(w.queue)
	}
}
