//go:build linux || darwin || freebsd

package proc

// This file keeps commands from inheriting descriptors, on Unix.

import (
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// carelessFiles are the descriptors of this process without the close-on-exec flag, which commands must not inherit. Go
// opens none, but the host may have been started with some, or have C code that opens them. While commands start, they
// have the flag. Children that the host starts at the same moment do not inherit them either. A descriptor has only one
// flag per process, so a process has only one carelessFiles. The zero value is ready to use. Its methods are safe for
// concurrent use.
type carelessFiles struct {
	mu     sync.Mutex
	found  []int               // every descriptor ever seen without the flag
	starts int                 // number of starts in progress
	marked map[int]unix.Stat_t // the files at the descriptors that lose the flag after the last start
}

var closedWhileStarting carelessFiles

// lookout decides when a Supervisor scans for such descriptors: before its first start, and then before other starts,
// for 1/scanShare of the time. With thousands of descriptors, a scan takes longer than a start. The zero value is ready
// to use.
type lookout struct {
	mu   sync.Mutex
	next time.Time // earliest time of the next scan
}

const scanShare = 400

func (l *lookout) look() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if began := time.Now(); !began.Before(l.next) {
		closedWhileStarting.scan()
		l.next = time.Now().Add(scanShare * time.Since(began))
	}
}

// closeInChild calls start. The started process does not inherit the descriptors, except where /dev/fd does not list
// those of a process, as on FreeBSD by default.
func (c *carelessFiles) closeInChild(start func() error) error {
	c.begin()
	defer c.end()
	return start()
}

func (c *carelessFiles) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.starts++
	for _, fd := range c.found {
		var file unix.Stat_t
		if !inheritable(fd) || unix.Fstat(fd, &file) != nil {
			continue
		}
		if c.marked == nil {
			c.marked = make(map[int]unix.Stat_t)
		}
		c.marked[fd] = file
		unix.CloseOnExec(fd)
	}
}

// end clears the flags again, unless a descriptor has another file by now: Go's have the flag.
func (c *carelessFiles) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.starts--; c.starts > 0 {
		return
	}
	for fd, before := range c.marked {
		var file unix.Stat_t
		if unix.Fstat(fd, &file) == nil && file.Dev == before.Dev && file.Ino == before.Ino {
			unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0)
		}
	}
	c.marked = nil
}

// scan finds descriptors without the close-on-exec flag.
func (c *carelessFiles) scan() {
	c.mu.Lock()
	defer c.mu.Unlock()
	dir, err := os.Open("/dev/fd")
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		fd, err := strconv.Atoi(name)
		if err == nil && fd > 2 && !slices.Contains(c.found, fd) && inheritable(fd) {
			c.found = append(c.found, fd)
		}
	}
}

// inheritable reports whether a descriptor is open without the close-on-exec flag.
func inheritable(fd int) bool {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	return err == nil && flags&unix.FD_CLOEXEC == 0
}
