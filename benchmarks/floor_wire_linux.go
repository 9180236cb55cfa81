package main

// The floor of serving commands over a connection: one thread that asks the kernel what is next, with nothing of JSON
// but what it looks for. It checks nothing, keeps no output beyond a pipe's, and its agent has to be this benchmark.

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// bareCommand is one that bareLoop runs. It is named by its pidfd.
type bareCommand struct {
	pid    int
	output int    // the read end of its pipe
	waiter []byte // the id of the request that waits for it; nil: none
	status unix.WaitStatus
	ended  bool
}

// bareLoop is for its own thread, which is the parent of all commands, and whose end would be theirs.
type bareLoop struct {
	epoll    int
	null     int
	environ  []string
	commands map[int]*bareCommand // by pidfd
	answers  []byte               // those not written yet
}

// serveBare: serves terminal/create, terminal/wait_for_exit and terminal/release on its standard input and output.
func serveBare([]string) error {
	runtime.LockOSThread()
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("open", err)
	}
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	l := &bareLoop{epoll: epoll, null: null, environ: os.Environ(), commands: make(map[int]*bareCommand)}
	if err := l.watch(0); err != nil {
		return err
	}
	var events [32]unix.EpollEvent
	var lines [64 << 10]byte
	rest := 0 // of an unfinished line, at the beginning of lines
	for {
		count, err := unix.EpollWait(epoll, events[:], -1)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return os.NewSyscallError("epoll_wait", err)
		}
		for _, event := range events[:count] {
			if event.Fd != 0 {
				l.exited(int(event.Fd))
				continue
			}
			n, err := unix.Read(0, lines[rest:])
			if err != nil {
				return os.NewSyscallError("read", err)
			}
			if n == 0 {
				return nil
			}
			whole := lines[:rest+n]
			for {
				line, others, found := bytes.Cut(whole, []byte{'\n'})
				if !found {
					break
				}
				if err := l.serve(line); err != nil {
					return err
				}
				whole = others
			}
			rest = copy(lines[:], whole)
		}
		if len(l.answers) == 0 {
			continue
		}
		if _, err := unix.Write(1, l.answers); err != nil {
			return os.NewSyscallError("write", err)
		}
		l.answers = l.answers[:0]
	}
}

func (l *bareLoop) watch(fd int) error {
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}))
}

// value is what stands between a mark and the next of the characters that end it.
func value(line []byte, mark, ends string) []byte {
	_, after, found := bytes.Cut(line, []byte(mark))
	end := bytes.IndexAny(after, ends)
	if !found || end < 0 {
		return nil
	}
	return after[:end]
}

func (l *bareLoop) serve(line []byte) error {
	id := value(line, `"id":`, ",}")
	if bytes.Contains(line, []byte(`"terminal/create"`)) {
		fd, err := l.create(string(value(line, `"command":"`, `"`)))
		l.answers = fmt.Appendf(l.answers, `{"jsonrpc":"2.0","id":%s,"result":{"terminalId":"term_%d"}}`+"\n", id, fd)
		return err
	}
	fd, err := strconv.Atoi(string(value(line, `"terminalId":"term_`, `"`)))
	if err != nil {
		return err
	}
	c := l.commands[fd]
	if bytes.Contains(line, []byte(`"terminal/wait_for_exit"`)) {
		if c.waiter = bytes.Clone(id); c.ended {
			l.answerWait(c)
		}
		return nil
	}
	unix.Close(c.output)
	unix.Close(fd)
	delete(l.commands, fd)
	l.answers = fmt.Appendf(l.answers, `{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", id)
	return nil
}

// create starts a program, without arguments, and returns its pidfd.
func (l *bareLoop) create(name string) (int, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return 0, err
	}
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return 0, os.NewSyscallError("pipe2", err)
	}
	unix.SetNonblock(pipe[0], true)
	var fd int
	pid, err := syscall.ForkExec(path, []string{name}, &syscall.ProcAttr{
		Env:   l.environ,
		Files: []uintptr{uintptr(l.null), uintptr(pipe[1]), uintptr(pipe[1])},
		Sys:   &syscall.SysProcAttr{Setsid: true, PidFD: &fd, Pdeathsig: syscall.SIGKILL},
	})
	unix.Close(pipe[1])
	if err != nil {
		return 0, err
	}
	l.commands[fd] = &bareCommand{pid: pid, output: pipe[0]}
	return fd, l.watch(fd)
}

// exited reaps a command, with its last output.
func (l *bareLoop) exited(fd int) {
	c := l.commands[fd]
	var output [4 << 10]byte
	unix.Read(c.output, output[:])
	unix.Wait4(c.pid, &c.status, 0, nil)
	unix.EpollCtl(l.epoll, unix.EPOLL_CTL_DEL, fd, nil)
	if c.ended = true; c.waiter != nil {
		l.answerWait(c)
	}
}

func (l *bareLoop) answerWait(c *bareCommand) {
	l.answers = fmt.Appendf(l.answers, `{"jsonrpc":"2.0","id":%s,"result":{"exitCode":%d,"signal":null}}`+"\n", c.waiter, c.status.ExitStatus())
}

// wireFloors are the floors of serving that are for Linux alone.
func wireFloors(atOnce int) []subject {
	return []subject{serving("bare loop", floor, func(s *stage) (*process, error) { return s.start(self("bare", 0)) },
		func(p *process, times int) error { return p.runMany(trueCommand(), times, atOnce) })}
}
