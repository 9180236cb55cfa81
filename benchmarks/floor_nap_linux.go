package main

// The floor of capturing what is written little at a time: a loop that no poller wakes, which naps while there is little, and
// keeps nothing.

import (
	"errors"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

const napWide = 1 << 20 // bytes that the pipe holds

func readNapping(c command, _ int) (int64, error) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		return 0, err
	}
	defer unix.Close(ends[0])
	unix.FcntlInt(uintptr(ends[0]), unix.F_SETPIPE_SZ, napWide)
	cmd, in := c.cmd(), os.NewFile(uintptr(ends[1]), "in")
	cmd.Stdout = in
	err := cmd.Start()
	in.Close()
	if err != nil {
		return 0, err
	}
	total, err := napAndDiscard(ends[0])
	return total, errors.Join(err, cmd.Wait())
}

func napAndDiscard(fd int) (total int64, err error) {
	if err := unix.SetNonblock(fd, true); err != nil {
		return 0, err
	}
	nap, memory := unix.Timespec{Nsec: 20_000}, make([]byte, readSize)
	for {
		switch n, err := unix.Read(fd, memory); {
		case err == unix.EINTR:
		case err != nil && err != unix.EAGAIN:
			return total, err
		case n == 0:
			return total, nil
		case n == readSize:
			total += int64(n)
		default:
			total += int64(max(n, 0))
			unix.Nanosleep(&nap, nil)
			runtime.Gosched()
		}
	}
}

// nappingSubjects are the loops that nap.
func nappingSubjects(total amounts, chunk int) []subject {
	return []subject{capturing("nap and discard", floor, total, chunk, always(readNapping))}
}
