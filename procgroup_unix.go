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
	output *os.File      // the reading end of its output; closed when nobody else has it open
	mark   string        // what terminalVariable has, among others, in the environment of its tree
	cgroup *cgroup       // what its tree cannot leave; nil if there is none
	strays strays        // who was found to have left the group
	trees  *trees        // of the manager

	enforced []EnforcedLimit // the limits that hold

	mu     sync.Mutex // held over kill and wait4 of a zombie, neither of which blocks
	reaped bool
}

func startGroup(c Command, o groupOptions) (_ *procGroup, err error) {
	undo := func(f func()) {
		if err != nil {
			f()
		}
	}
	defer func() {
		if err != nil {
			err = startError(c, err)
		}
	}()
	limits, err := o.limits.asked()
	if err != nil {
		return nil, err
	}
	stdin, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer stdin.Close()
	output, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer undo(func() { output.Close() })
	defer w.Close()
	cgroup, err := newCgroup(o.cgroup, o.mark)
	if err != nil {
		return nil, err
	}
	defer undo(cgroup.remove)
	ofTree, limits, err := cgroup.limit(limits)
	if err != nil {
		return nil, err
	}
	limiter, err := newLimiter(limits)
	if err != nil {
		return nil, err
	}

	g := &procGroup{exited: make(chan struct{}), output: output, mark: o.mark, cgroup: cgroup, trees: o.trees}
	attr := &syscall.SysProcAttr{Setsid: true}
	g.watch.prepare(attr)
	cgroup.prepare(attr)
	g.pid, err = limiter.start(c, &syscall.ProcAttr{
		Dir:   c.Dir,
		Env:   c.Env,
		Files: childFiles(stdin.Fd(), w.Fd(), o.files), // Fd makes them blocking, as commands expect
		Sys:   attr,
	})
	if err != nil {
		return nil, err
	}
	if err = g.watch.open(g.pid); err == nil {
		if g.enforced, err = limiter.impose(g.pid); err != nil {
			g.watch.close()
		}
	}
	if err != nil {
		unix.Kill(-g.pid, unix.SIGKILL)
		g.reap()
		return nil, err
	}
	g.enforced = append(ofTree, g.enforced...)
	g.trees.enter(g.pid)
	return g, nil
}

// childFiles is the descriptor table of a command: its three, those that it is given, and every other one closed that
// it would inherit. Go opens none of those, but the host may have been started with some, or have C code that does.
// (Where /dev/fd does not list a process's descriptors, as on FreeBSD by default, they stay open.)
func childFiles(stdin, output uintptr, given []*os.File) []uintptr {
	files := []uintptr{stdin, output, output}
	for _, file := range given {
		files = append(files, file.Fd())
	}
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

// signalGroup sends to the group, whether its leader runs or not. SIGCONT follows what asks a process to end, so
// that a stopped one hears it. Errors say nothing that a look at who is left does not: ESRCH that the group is
// empty, EPERM that it has zombies only (on macOS) or members of another user.
func (g *procGroup) signalGroup(sig syscall.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.reaped {
		return
	}
	if unix.Kill(-g.pid, sig) == nil && sig != unix.SIGKILL {
		unix.Kill(-g.pid, unix.SIGCONT)
	}
}

// close reaps the leader if it has exited. One that has not is left to run, and to its number.
func (g *procGroup) close() {
	if g.closeAndReap() {
		g.cgroup.remove() // a zombie would hold it
	}
}

// closeAndReap is close but for the cgroup, which takes its time. It reports false if it was done before.
func (g *procGroup) closeAndReap() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.reaped {
		return false
	}
	g.watch.close()
	g.strays.close()
	select {
	case <-g.exited:
		g.trees.leave(g.pid)
		g.reap()
		g.reaped = true
	default:
	}
	return true
}

// reap takes the leader's zombie away.
func (g *procGroup) reap() {
	for {
		var status unix.WaitStatus
		_, err := unix.Wait4(g.pid, &status, 0, nil)
		if !errors.Is(err, unix.EINTR) && (err != nil || !status.Stopped()) { // one that was to get limits may be seen to stop
			return
		}
	}
}

// readPipe reads what lies in a pipe, or waits for it.
func readPipe(pipe *os.File, p []byte) (int, error) { return pipe.Read(p) }

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
