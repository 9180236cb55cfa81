//go:build unix

package acpterm

// A process tree on the Unixes: the command is the leader of a session of its own, so of a process group
// of its own, and nothing in it can reach the host's terminal. How the leader's exit and the end of its
// group are seen is in procgroup_linux.go and procgroup_kqueue.go.

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// procGroup is a started tree. procgroup.go says what its methods promise.
type procGroup struct {
	pid    int           // the leader's, its group's and its session's number
	watch  exitWatch     // how the leader's exit is seen
	exited chan struct{} // closed when it has exited
	output *outputEnd    // of its output; closed when nobody else has it open
	mark   string        // what terminalVariable has, among others, in the environment of its tree
	cgroup *cgroup       // what its tree cannot leave; nil if there is none
	strays strays        // who was found to have left the group
	trees  *trees        // of the manager
	entry  entry         // which of them it is

	enforced []EnforcedLimit // the limits that hold

	mu     sync.Mutex // held over kill, the close of what watches and wait4 of a zombie, none of which blocks
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
	output, w, err := outputPipe()
	if err != nil {
		return nil, err
	}
	defer undo(func() { output.Close() })
	defer w.Close()
	files, err := o.inherited.table(w.Fd(), o.files) // where it is a file of Go's, Fd makes it blocking, as commands expect
	if err != nil {
		return nil, err
	}
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
	g.watch.prepare(attr, o.trees)
	cgroup.prepare(attr)
	drop := func(pid int) {
		g.trees.leave(pid)
		reap(pid)
	}
	err = limiter.start(c, &syscall.ProcAttr{
		Dir:   c.Dir,
		Env:   c.Env,
		Files: files,
		Sys:   attr,
	}, o.inherited, forkCalls{
		begun:  func(pid int) { g.pid, g.entry = pid, g.trees.enter(pid) },
		pause:  o.pause,
		failed: drop,
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
		drop(g.pid)
		return nil, err
	}
	g.enforced = append(ofTree, g.enforced...)
	return g, nil
}

func (g *procGroup) onExit(busy *sync.WaitGroup, f func(exit, error)) {
	g.watch.onExit(g.pid, busy, func(e exit, err error) {
		if err != nil {
			f(exit{}, fmt.Errorf("waiting for process %d: %w", g.pid, err))
			return
		}
		close(g.exited)
		f(e, nil)
	})
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
	first := g.closeAndReap()
	g.watch.close() // without the lock: it may tell that the exit will not be seen
	if first {
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
	g.strays.close()
	select {
	case <-g.exited:
		g.trees.leave(g.pid)
		g.watch.close() // before the zombie goes, of which a pidfd tells as well
		reap(g.pid)
		g.reaped = true
	default:
	}
	return true
}

// reap takes a child's zombie away.
func reap(pid int) {
	for {
		var status unix.WaitStatus
		_, err := unix.Wait4(pid, &status, 0, nil)
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
