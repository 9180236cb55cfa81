package main

// The floor of capturing what is written little at a time: a loop that naps while there is little, and keeps nothing. It is told
// twice: of a pipe that was never polled, which takes a thread for each command that writes nothing; and of one that was. The
// kernel looks with each write whether somebody polls such a pipe, for as long as there is one (poll_usage, fs/pipe.c).

import (
	"errors"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

const napWide = 1 << 20 // bytes that the pipe holds

// readNapping is a runner, before which something is done with the pipe's reading end.
func readNapping(before func(fd int) error) runner {
	return func(c command, _ int) (int64, error) {
		var ends [2]int
		if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
			return 0, err
		}
		defer unix.Close(ends[0])
		in := os.NewFile(uintptr(ends[1]), "in")
		defer in.Close()
		if err := before(ends[0]); err != nil {
			return 0, err
		}
		return napAndRun(c, ends[0], in)
	}
}

func napAndRun(c command, fd int, in *os.File) (int64, error) {
	unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, napWide)
	cmd := c.cmd()
	cmd.Stdout = in
	err := cmd.Start()
	in.Close()
	if err != nil {
		return 0, err
	}
	total, err := napAndDiscard(fd)
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

func unpolled(int) error { return nil }

// pollOnce asks whether there is something to be read.
func pollOnce(fd int) error {
	_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	return err
}

// nappingSubjects are the loops that nap.
func nappingSubjects(total amounts, chunk int) []subject {
	return []subject{
		capturing("nap and discard", floor, total, chunk, always(readNapping(unpolled))),
		capturing("the same, once polled", floor, total, chunk, always(readNapping(pollOnce))),
	}
}
