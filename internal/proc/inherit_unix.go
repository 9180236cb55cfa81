//go:build linux || darwin || freebsd

package proc

// This file keeps commands from inheriting descriptors, on Unix.

import (
	"math"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// inherit keeps track of this process's descriptors without the close-on-exec flag, which commands must not inherit. Go
// opens none, but the host may have been started with some, or have C code that opens them. The zero value is ready to
// use. Its methods are safe for concurrent use.
type inherit struct {
	mu    sync.Mutex
	found []int     // every descriptor ever seen without close-on-exec
	next  time.Time // earliest time of the next scan
}

// scanShare bounds the time of scans to 1/scanShare: with thousands of descriptors, a scan takes longer than a start.
const scanShare = 400

// closingOthers returns the files for a child to inherit from descriptor 3 on, followed by a nil for every other
// descriptor that it would inherit. A nil closes the descriptor in the child. It is harmless if the descriptor has been
// closed meanwhile, so descriptors are remembered once found. Where /dev/fd does not list a process's descriptors, as
// on FreeBSD by default, they stay open.
func (i *inherit) closingOthers(files []*os.File) []*os.File {
	i.mu.Lock()
	defer i.mu.Unlock()
	if began := time.Now(); !began.Before(i.next) {
		i.scan()
		i.next = time.Now().Add(scanShare * time.Since(began))
	}
	last, most := 2+len(files), i.highest()
	for _, fd := range i.found {
		if fd <= most {
			last = max(last, fd)
		}
	}
	return append(slices.Clone(files), make([]*os.File, last-2-len(files))...)
}

// highest returns the highest descriptor that can be closed in a child: package syscall needs some higher ones for
// itself. A higher descriptor, opened before the limit was lowered, stays open.
func (i *inherit) highest() int {
	const spare = 16
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	return int(min(uint64(limit.Cur), math.MaxInt32)) - spare
}

// scan finds descriptors without the close-on-exec flag.
func (i *inherit) scan() {
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
