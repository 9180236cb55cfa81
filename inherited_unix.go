//go:build unix

package acpterm

// What a command would inherit of its host by chance: the descriptors that stay open over an exec. Go opens none of those,
// but the host may have been started with some, or have C code that opens them.

import (
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// inherited knows the descriptors of this process that commands are not to have, and has the one that all have as their
// input. The zero value is ready. Its methods may be called concurrently, but none after close.
type inherited struct {
	mu      sync.Mutex
	found   []int     // every descriptor that was ever seen to stay open over an exec
	next    time.Time // not to be looked for again before
	nothing *os.File  // the system's null device; nil until it is needed

	own ownFork
}

// lookShare is the part of the time that may go into looking: with thousands of descriptors a look takes longer than a
// start, and with dozens a quarter as long.
const lookShare = 400

// table is the descriptor table of a command: nothing to read, its output twice, and those that it is given.
func (i *inherited) table(output uintptr, given []*os.File) ([]uintptr, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.nothing == nil {
		var err error
		if i.nothing, err = os.Open(os.DevNull); err != nil {
			return nil, err
		}
	}
	files := []uintptr{i.nothing.Fd(), output, output}
	for _, file := range given {
		files = append(files, file.Fd())
	}
	return files, nil
}

// forkCalls are what a fork calls, on its thread.
type forkCalls struct {
	begun  func(pid int) // there is a child; they come in the order of the forks
	pause  pauseFunc     // and it has to become its program
	failed func(pid int) // which it could not: it is to be reaped
}

// fork starts a command, which inherits the descriptors in attr and no other.
func (i *inherited) fork(c Command, attr *syscall.ProcAttr, calls forkCalls) error {
	if done, err := i.own.fork(c.Path, c.Args, attr, calls); done {
		return err
	}
	return i.forkExec(c.Path, c.Args, attr, calls)
}

// forkExec is syscall.ForkExec, for a program that inherits the descriptors in attr and no other.
func (i *inherited) forkExec(path string, args []string, attr *syscall.ProcAttr, calls forkCalls) error {
	attr.Files = i.closingOthers(attr.Files)
	pid, err := syscall.ForkExec(path, args, attr)
	if err == nil {
		calls.begun(pid)
	}
	return err
}

// closingOthers is a descriptor table with every other descriptor closed that a child would inherit. (Where /dev/fd does
// not list a process's descriptors, as on FreeBSD by default, they stay open.)
func (i *inherited) closingOthers(files []uintptr) []uintptr {
	i.mu.Lock()
	defer i.mu.Unlock()
	if began := time.Now(); !began.Before(i.next) {
		i.look()
		i.next = time.Now().Add(lookShare * time.Since(began))
	}
	for _, fd := range i.found {
		for fd >= len(files) {
			files = append(files, closed)
		}
	}
	return files
}

// closed, in the place of a descriptor, has it closed in the child. For one that is not open that does nothing, and one
// that is closed on an exec anyway is no loss: so those that were found once are remembered for good.
const closed = ^uintptr(0)

// look finds descriptors that stay open over an exec.
func (i *inherited) look() {
	dir, err := os.Open("/dev/fd")
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		fd, err := strconv.Atoi(name)
		if err != nil || fd <= 2 || slices.Contains(i.found, fd) {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			i.found = append(i.found, fd)
		}
	}
}

// close gives back what it holds.
func (i *inherited) close() {
	if i.nothing != nil {
		i.nothing.Close()
	}
}
