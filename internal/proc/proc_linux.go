package proc

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/acpterm/acpterm/internal/procfs"
)

// Tree is a command that was started and all that it starts: the leader, its session, and what left that session. Its
// methods may be called concurrently, but End by one goroutine at a time, and none but Close after Close.
type Tree struct {
	common
	sup       *Supervisor
	starter   *starter
	pidfd     *os.File // the leader's, in Go's poller; nil on a system without, before Linux 5.4
	pipe      uint64   // what /proc calls the output's pipe
	cgroup    *cgroup  // nil: none
	mark      Mark
	contained bool
	before    forkCount // from before the leader began

	// For one End at a time, and for Close after it.
	leader  procfs.Process              // its line of the table; zero before it was read
	escaped map[procfs.ID]procfs.Handle // members found outside of the session: of the tree for good

	mu     sync.Mutex // held over system calls that do not block
	lost   bool       // another part of the program has reaped the leader
	closed bool
}

// start is Start on a starter's thread.
func (s *Supervisor) start(ctx context.Context, st *starter, spec Spec) (_ *Tree, err error) {
	undo := func(f func()) {
		if err != nil {
			f()
		}
	}
	output, w, err := outputPipe()
	if err != nil {
		return nil, err
	}
	defer undo(func() { output.Close() })
	defer w.Close()
	cgroup, err := newCgroup(spec.Cgroup, spec.Mark.Value)
	if err != nil {
		return nil, err
	}
	defer undo(cgroup.remove)
	ofTree, ofProcess, err := cgroup.limit(spec.Limits)
	if err != nil {
		return nil, err
	}
	t := &Tree{
		common: common{output: output}, sup: s, starter: st, cgroup: cgroup, mark: spec.Mark, contained: spec.Contained,
		before: s.forksBefore(), escaped: make(map[procfs.ID]procfs.Handle),
	}
	if t.pipe, err = pipeNumber(w); err != nil {
		return nil, err
	}
	pidfd := -1
	cmd := &exec.Cmd{
		Path: spec.Path, Args: spec.Args, Env: spec.Env, Dir: spec.Dir, Stdout: w, Stderr: w,
		ExtraFiles: s.inherit.closingOthers(spec.Files),
		SysProcAttr: &syscall.SysProcAttr{
			Setsid:    true,
			Pdeathsig: syscall.SIGKILL, // the host's end is the command's
			PidFD:     &pidfd,
		},
	}
	cgroup.prepare(cmd.SysProcAttr)
	s.beginStart()
	defer s.endStart()
	limiter, err := startLimited(cmd, ofProcess)
	if err != nil {
		return nil, err
	}
	t.pid = cmd.Process.Pid
	cmd.Process.Release() // Close reaps it
	if pidfd >= 0 {
		t.pidfd = pollable(pidfd)
	}
	if t.pidfd == nil {
		t.readLeader() // tells it from a later process with its number
	}
	s.enter(t)
	if ofProcess, err = limiter.impose(ctx, t); err != nil {
		t.signalGroup(syscall.SIGKILL)
	}
	s.busy.Go(t.watch)
	if err != nil {
		<-t.known.Done()
		t.Close()
		return nil, err
	}
	t.limits = append(ofTree, ofProcess...)
	return t, nil
}

// outputPipe is a pipe whose reading end is in Go's poller, and whose writing end blocks, as commands expect.
func outputPipe() (r, w *os.File, err error) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, os.NewSyscallError("pipe2", err)
	}
	if err := unix.SetNonblock(ends[0], true); err != nil {
		unix.Close(ends[0])
		unix.Close(ends[1])
		return nil, nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(ends[0]), "output"), os.NewFile(uintptr(ends[1]), "output"), nil
}

// pipeNumber is what /proc calls a pipe.
func pipeNumber(pipe *os.File) (uint64, error) {
	var status unix.Stat_t
	if err := unix.Fstat(int(pipe.Fd()), &status); err != nil {
		return 0, os.NewSyscallError("fstat", err)
	}
	return status.Ino, nil
}

// pollable hands a pidfd to Go's poller.
func pollable(pidfd int) *os.File {
	if unix.SetNonblock(pidfd, true) != nil {
		unix.Close(pidfd)
		return nil
	}
	return os.NewFile(uintptr(pidfd), "pidfd")
}

// watch is the goroutine that waits for the leader's exit, in Go's poller.
func (t *Tree) watch() {
	exit, err := t.awaitExit()
	if !errors.Is(err, unix.ECHILD) {
		t.setExit(exit, err)
		return
	}
	t.markLost()
	exit, err = t.lostExit()
	exit.Reaped = true
	if err != nil && t.sup.HostReaps {
		select {
		case <-t.known.Done(): // Reaped has said how it ended, or Close has given it up
		case <-time.After(handOver):
		}
	}
	t.setExit(exit, err)
}

// handOver is how long a host may take from a wait4 to the call of Reaped.
const handOver = 5 * time.Second

func (t *Tree) awaitExit() (exit Exit, err error) {
	if t.pidfd == nil {
		for seen := false; !seen && err == nil; {
			exit, seen, err = waitUnreaped(unix.P_PID, t.pid, 0)
		}
		return exit, err
	}
	raw, err := t.pidfd.SyscallConn()
	if err != nil {
		return exit, err
	}
	seen := false
	readErr := raw.Read(func(fd uintptr) (done bool) {
		exit, seen, err = waitUnreaped(unix.P_PIDFD, int(fd), unix.WNOHANG)
		return seen || err != nil
	})
	if readErr != nil { // Close has closed it
		return exit, readErr
	}
	return exit, err
}

// lostExit is how a leader ended that another part of the program has reaped: from Linux 6.15 on its pidfd still says.
func (t *Tree) lostExit() (Exit, error) {
	info := unix.PidfdInfo{Mask: unix.PIDFD_INFO_EXIT}
	err := t.withPidfd(func(fd int) error { return unix.IoctlPidfdInfo(fd, &info) })
	if err != nil || info.Mask&unix.PIDFD_INFO_EXIT == 0 {
		return Exit{}, ErrReaped
	}
	return exitOf(syscall.WaitStatus(info.Exit_code)), nil
}

// withPidfd calls f with the leader's pidfd, if there is one and it is open.
func (t *Tree) withPidfd(f func(fd int) error) error {
	if t.pidfd == nil {
		return errors.ErrUnsupported
	}
	raw, err := t.pidfd.SyscallConn()
	if err != nil {
		return err
	}
	if controlErr := raw.Control(func(fd uintptr) { err = f(int(fd)) }); controlErr != nil {
		return controlErr
	}
	return err
}

// markLost notes that another part of the program has reaped the leader.
func (t *Tree) markLost() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lost = true
}

// unreaped reports whether the leader's number is still its own: it runs, or is a zombie that was not reaped.
func (t *Tree) unreaped() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.unreapedLocked()
}

func (t *Tree) unreapedLocked() bool {
	switch {
	case t.closed:
		return false
	case t.pidfd == nil:
		now, err := procfs.Read(t.pid)
		return err == nil && now.ID == t.leader.ID && now.Parent == os.Getpid()
	}
	return t.withPidfd(func(fd int) error {
		_, _, err := waitUnreaped(unix.P_PIDFD, fd, unix.WNOHANG)
		return err
	}) == nil
}

// signalGroup sends a signal to the leader's group, whether the leader runs or not, and to no other. Errors say nothing that
// a scan does not.
func (t *Tree) signalGroup(sig syscall.Signal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	err := send(sig, func(sig syscall.Signal) error {
		return t.withPidfd(func(fd int) error {
			return unix.PidfdSendSignal(fd, sig, nil, unix.PIDFD_SIGNAL_PROCESS_GROUP)
		})
	})
	if err != nil && !errors.Is(err, unix.ESRCH) && !errors.Is(err, unix.EPERM) && t.unreapedLocked() { // before Linux 6.9
		send(sig, func(sig syscall.Signal) error { return unix.Kill(-t.pid, sig) })
	}
}

// Close reaps the leader if it has exited, and frees what the Tree holds. A leader that has not exited is left to run.
func (t *Tree) Close() {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return
	}
	gone := t.lost || t.hasExited() && t.exitErr == nil
	if gone && !t.lost {
		t.reapLocked()
	}
	t.closed = true
	t.mu.Unlock()
	if t.pidfd != nil {
		t.pidfd.Close()
	}
	t.setExit(Exit{}, os.ErrClosed)
	for _, handle := range t.escaped {
		handle.Close()
	}
	if gone {
		t.sup.leave(t)
	}
	t.cgroup.remove() // a zombie would hold it
}

// reapLocked takes the leader's zombie away, and no other.
func (t *Tree) reapLocked() {
	if t.withPidfd(func(fd int) error { return reap(unix.P_PIDFD, fd) }) != nil && t.pidfd == nil && t.unreapedLocked() {
		reap(unix.P_PID, t.pid)
	}
}

func reap(idType, id int) error {
	for {
		err := unix.Waitid(idType, id, nil, unix.WEXITED|unix.WNOHANG, nil)
		if err != unix.EINTR {
			return err
		}
	}
}

// childInfo is how waitid fills in siginfo_t (man 2 sigaction): three ints, then the fields of SIGCHLD, aligned to a word.
// x/sys has no names for those.
type childInfo struct {
	signo, errno, code int32
	_                  [unsafe.Sizeof(uintptr(0)) - 4]byte
	pid, uid, status   int32
}

const (
	childExited = 1 // CLD_EXITED: status is an exit code
	childKilled = 2 // CLD_KILLED: status is a signal
	childDumped = 3 // CLD_DUMPED: likewise
)

// waitUnreaped is waitid for a child's exit, leaving the zombie. It fails with ECHILD if there is no such child, since
// somebody has reaped it.
func waitUnreaped(idType, id, options int) (exit Exit, exited bool, err error) {
	var info unix.Siginfo
	var used unix.Rusage
	for {
		err = unix.Waitid(idType, id, &info, unix.WEXITED|unix.WNOWAIT|options, &used)
		if err != unix.EINTR {
			break
		}
	}
	child := (*childInfo)(unsafe.Pointer(&info))
	switch {
	case err != nil || child.pid == 0: // it runs
		return Exit{}, false, err
	case child.code == childExited:
		exit.Code = uint32(child.status)
	case child.code != childKilled && child.code != childDumped: // a tracer also sees it stop
		return Exit{}, false, nil
	default:
		exit.Signal = signalName(syscall.Signal(child.status))
	}
	exit.CPUTime = time.Duration(used.Utime.Nano() + used.Stime.Nano())
	exit.PeakMemory = int64(used.Maxrss) << 10 // man 2 getrusage: kilobytes
	return exit, true, nil
}
