package main

// How long after a command's exit whoever waits for it is told. The command says when it is about to exit.

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/acpterm/acpterm"
	"golang.org/x/sys/unix"
)

// stamp: prints what time it is, and exits.
func stamp([]string) error {
	_, err := os.Stdout.WriteString(strconv.FormatInt(int64(monotonic()), 10))
	return err
}

// sinceStamp is how long after a stamp some moment was.
func sinceStamp(text string, then time.Duration) (float64, error) {
	at, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("a stamp: %w", err)
	}
	return (then - time.Duration(at)).Seconds(), nil
}

// exiting measures something that runs a command, and says what it printed and when its exit was known.
func exiting(name string, role role, open func(s *stage) (func(c command) (string, time.Duration, error), error)) subject {
	return subject{name, role, func(s *stage) (turn, error) {
		run, err := open(s)
		return func(f findings) error {
			for range s.scale.of(amounts{10, 10, 2}) {
				text, then, err := run(self("stamp", 0))
				if err != nil {
					return err
				}
				took, err := sinceStamp(text, then)
				if err != nil {
					return err
				}
				f.add("latency", took)
			}
			return nil
		}, err
	}}
}

func exitingClient(name string, role role) subject {
	return exiting(name, role, func(s *stage) (func(c command) (string, time.Duration, error), error) {
		p, err := s.startClient(name)
		return func(c command) (string, time.Duration, error) {
			t, err := p.create(c)
			if err != nil {
				return "", 0, err
			}
			line, err := p.exchange(p.request(acpterm.MethodWaitForExit, t))
			then := monotonic()
			if err != nil {
				return "", 0, err
			}
			if _, err := readReply(line); err != nil {
				return "", 0, err
			}
			var out struct{ Output string }
			if err := p.call(acpterm.MethodOutput, t, &out); err != nil {
				return "", 0, err
			}
			return out.Output, then, p.call(acpterm.MethodRelease, t, new(struct{}))
		}, err
	})
}

// awaitPidfd is the floor: a wait for the command's pidfd alone.
func awaitPidfd(c command) (string, time.Duration, error) {
	cmd := c.cmd()
	read, write, err := os.Pipe()
	if err != nil {
		return "", 0, err
	}
	defer read.Close()
	cmd.Stdout = write
	err = cmd.Start()
	write.Close()
	if err != nil {
		return "", 0, err
	}
	then, err := waitPidfd(cmd.Process.Pid)
	buf := make([]byte, 100)
	n, _ := read.Read(buf)
	cmd.Wait()
	return string(buf[:n]), then, err
}

func waitPidfd(pid int) (then time.Duration, err error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return 0, os.NewSyscallError("pidfd_open", err)
	}
	defer unix.Close(fd)
	err = awaitReadable(fd)
	return monotonic(), err
}

// awaitReadable returns when the process of a pidfd has exited.
func awaitReadable(pidfd int) error {
	for {
		if _, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, -1); err != unix.EINTR {
			return err
		}
	}
}

func exitRows() []row {
	return []row{{
		name: "exit to the wait's reply", rounds: amounts{20, 8, 1},
		subjects: []subject{
			exitingClient("acpterm", ours),
			exiting("pidfd wait", floor, func(*stage) (func(command) (string, time.Duration, error), error) { return awaitPidfd, nil }),
			exitingClient("naive", peer),
			exitingClient("Go SDK", peer),
			exitingClient("Node", peer),
		},
		metrics: []metric{{"latency", seconds, median, target{1.6, "pidfd wait", ratioAtMost}}},
	}}
}
