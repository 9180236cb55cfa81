//go:build linux || darwin || freebsd

package proc

// Descriptors that commands must not inherit, on Unix.

import (
	"math"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// inherit knows the descriptors of this process that stay open over an exec, which commands are not to have. Go opens
// none of those, but the host may have been started with some, or have C code that opens them. The zero value is ready.
// Its methods may be called concurrently.
type inherit struct {
	mu    sync.Mutex
	found []int     // every descriptor that was ever seen to stay open over an exec
	next  time.Time // no scan before
}

// scanShare bounds the time that scans take to one part in so many: with thousands of descriptors, a scan takes longer
// than a start.
const scanShare = 400

// closingOthers are the files that a child inherits as descriptors from 3 on, with a nil, which closes it in the child,
// for every other descriptor that it would inherit. One that is not open any more does no harm, so those that were
// found once are remembered. Where /dev/fd does not list a process's descriptors, as on FreeBSD by default, they stay
// open.
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

// highest is the highest descriptor that can be closed in a child: package syscall needs some higher ones for itself. A
// higher one, opened before the limit was lowered, stays open.
func (i *inherit) highest() int {
	const spare = 16
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	return int(min(uint64(limit.Cur), math.MaxInt32)) - spare
}

// scan finds descriptors that stay open over an exec.
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
