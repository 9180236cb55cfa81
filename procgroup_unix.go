//go:build unix

package acpterm

// A process tree on the Unixes: the command is the leader of a session of its own, so of a process group
// of its own, and nothing in it can reach the host's terminal. How the leader's exit and the end of its
// group are seen is in procgroup_linux.go and procgroup_kqueue.go.

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// procGroup is a started tree. procgroup.go says what its methods promise.
type procGroup struct {
	pid    int           // the leader's, its group's and its session's number
	watch  exitWatch     // how the leader's exit is seen
	exited chan struct{} // closed when it has exited

	mu     sync.Mutex // held over kill and wait4 of a zombie, neither of which blocks
	reaped bool
}

func startGroup(c Command) (_ *procGroup, output *os.File, err error) {
	stdin, err := os.Open(os.DevNull)
	if err != nil {
		return nil, nil, startError(c, err)
	}
	defer stdin.Close()
	output, w, err := os.Pipe()
	if err != nil {
		return nil, nil, startError(c, err)
	}
	defer w.Close()

	g := &procGroup{exited: make(chan struct{})}
	attr := &syscall.SysProcAttr{Setsid: true}
	g.watch.prepare(attr)
	g.pid, err = syscall.ForkExec(c.Path, c.Args, &syscall.ProcAttr{
		Dir:   c.Dir,
		Env:   c.Env,
		Files: childFiles(stdin.Fd(), w.Fd()), // Fd makes them blocking, as commands expect
		Sys:   attr,
	})
	if err == nil {
		if err = g.watch.open(g.pid); err != nil {
			unix.Kill(-g.pid, unix.SIGKILL)
			g.reap()
		}
	}
	if err != nil {
		output.Close()
		return nil, nil, startError(c, err)
	}
	return g, output, nil
}

// childFiles is the descriptor table of a command: its three, and every other one closed that it would
// inherit. Go opens none of those, but the host may have been started with some, or have C code that does.
// (Where /dev/fd does not list a process's descriptors, as on FreeBSD by default, they stay open.)
func childFiles(stdin, output uintptr) []uintptr {
	files := []uintptr{stdin, output, output}
	dir, err := os.Open("/dev/fd")
	if err != nil {
		return files
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		fd, err := strconv.Atoi(name)
		if err != nil || fd < len(files) {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			for len(files) <= fd {
				files = append(files, closed)
			}
		}
	}
	return files
}

// closed, in the place of a descriptor, has it closed in the child.
const closed = ^uintptr(0)

func (g *procGroup) awaitExit() (exit, error) {
	e, err := g.watch.await(g.pid)
	if err != nil {
		return exit{}, fmt.Errorf("waiting for process %d: %w", g.pid, err)
	}
	close(g.exited)
	return e, nil
}

// signal sends to the group. SIGCONT follows what asks a process to end, so that a stopped one hears it.
func (g *procGroup) signal(sig syscall.Signal) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.reaped {
		return nil
	}
	err := unix.Kill(-g.pid, sig)
	if err == nil && sig != unix.SIGKILL {
		err = unix.Kill(-g.pid, unix.SIGCONT)
	}
	// EPERM is macOS's answer for a group of zombies, and any system's for one whose members changed
	// their user; awaitGone tells them apart.
	if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EPERM) {
		return nil
	}
	return err
}

// close reaps the leader if it has exited. One that has not is left to run, and to its number.
func (g *procGroup) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.reaped {
		return
	}
	g.watch.close()
	select {
	case <-g.exited:
		g.reap()
		g.reaped = true
	default:
	}
}

// reap takes the leader's zombie away.
func (g *procGroup) reap() {
	for {
		if _, err := unix.Wait4(g.pid, nil, 0, nil); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// unread is how many bytes lie in a pipe.
func unread(pipe *os.File) (n int, err error) {
	raw, err := pipe.SyscallConn()
	if err != nil {
		return 0, err
	}
	controlErr := raw.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), fionread) })
	return n, errors.Join(controlErr, err)
}

// signalExit is the exit of a process that a signal ended.
func signalExit(sig syscall.Signal) exit {
	name := unix.SignalName(sig)
	if name == "" { // a real-time signal, or one that this system alone has
		name = fmt.Sprintf("SIG%d", int(sig))
	}
	return exit{signal: name}
}

func isExecFormat(err error) bool { return errors.Is(err, syscall.ENOEXEC) }
