package proc

// This file implements Tree on Linux: its start, signals to its group, its reaping.

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/acpterm/acpterm/internal/cgroup"
	"github.com/acpterm/acpterm/internal/procfs"
)

// Tree is a started command with all its descendants: the leader, its session, and the processes that left that
// session. Its methods are safe for concurrent use, except that only one goroutine at a time may call End, Gone or
// Rest, and that only Close and Members may be called after Close.
type Tree struct {
	common
	finder    // of End and Gone, and of Close after them
	sup       *Supervisor
	starter   *starter       // nil if StartCmd started the leader; cmd.Wait then reaps it
	pidfd     int            // the leader's, until closed; -1 before Linux 5.4
	writing   procfs.File    // the command's output
	input     *procfs.File   // the terminal or the file that is its standard input, or nil if it reads end of file
	cgroup    *cgroup.Cgroup // or nil
	mark      Mark
	contained bool
	keeps     bool // Spec.KeepDetached
	wraps     int  // ids.wraps before the leader's start

	mu     sync.Mutex // held during system calls that do not block
	reaped bool       // by another part of the program
	closed bool
}

// finder is what one user of a Tree has found out about its members. Only one goroutine at a time may use it.
type finder struct {
	*Tree
	leader  procfs.Process              // its entry in the process table; zero until read
	escaped map[procfs.ID]procfs.Handle // members once found outside the session, which stay members
	closely bool                        // scan closely: another program's process has the output open
	rest    time.Duration               // the last pause of Rest, which alone uses it
	trace   *trace                      // of the current call, or nil
}

func newFinder(t *Tree) finder {
	return finder{Tree: t, escaped: make(map[procfs.ID]procfs.Handle)}
}

// start implements Start on a starter's thread.
func (s *Supervisor) start(ctx context.Context, st *starter, spec Spec) (_ *Tree, err error) {
	t := &Tree{
		sup: s, starter: st, pidfd: -1, mark: spec.Mark, contained: spec.Contained, keeps: spec.KeepDetached,
	}
	t.finder = newFinder(t)
	_, t.wraps = s.lookAtIDs()
	defer func() {
		if err != nil {
			t.output.Close()
			t.pty.close()
			t.cgroup.Remove()
		}
	}()
	stdin, stdout, err := t.openStandard(spec.PTY)
	if err != nil {
		return nil, err
	}
	if spec.PTY == nil {
		defer unix.Close(stdin)
		defer unix.Close(stdout)
	}
	standard := []uintptr{uintptr(stdin), uintptr(stdout), uintptr(stdout)}
	replace(&standard[0], spec.Stdin)
	if t.input, err = standardInput(spec, t.writing); err != nil {
		return nil, err
	}
	replace(&standard[2], spec.Stderr)
	if t.cgroup, err = cgroup.Make(spec.Cgroup, spec.Mark.Value); err != nil {
		return nil, err
	}
	ofTree, ofProcess, err := limitTogether(t.cgroup, spec.Limits)
	if err != nil {
		return nil, err
	}
	attr := &syscall.ProcAttr{
		Dir: spec.Dir, Env: spec.Env, Files: standard,
		Sys: &syscall.SysProcAttr{
			Setsid:    true,
			Setctty:   t.pty != nil,    // Ctty is the command's descriptor 0
			Pdeathsig: syscall.SIGKILL, // the command ends with the host
			PidFD:     &t.pidfd,
		},
	}
	s.lookout.look()
	for _, file := range spec.Files {
		fd := ^uintptr(0) // closed in the child
		replace(&fd, file)
		attr.Files = append(attr.Files, fd)
	}
	t.cgroup.Prepare(attr.Sys)
	ofProcess, err = t.startLeader(ctx, spec, attr, ofProcess)
	runtime.KeepAlive(spec)
	if err != nil {
		return nil, err
	}
	t.limits = append(ofTree, ofProcess...)
	return t, nil
}

// replace replaces a standard file by the caller's file, if not nil.
func replace(standard *uintptr, file *os.File) {
	if file != nil {
		*standard = file.Fd()
	}
}

// standardInput returns the standard input of a command, whose output goes to the given file.
func standardInput(spec Spec, output procfs.File) (*procfs.File, error) {
	switch {
	case spec.PTY != nil:
		return &output, nil
	case spec.Stdin == nil:
		return nil, nil
	}
	file, err := procfs.FileOf(int(spec.Stdin.Fd()))
	return &file, err
}

// KeepDetached turns on Spec.KeepDetached. It must not be called during End.
func (t *Tree) KeepDetached() { t.keeps = true }

// openStandard opens the command's standard input and output: either the PTY, which the tree keeps, or the null device
// and a pipe, which the caller closes. os.Pipe would also put the write end into Go's poller.
func (t *Tree) openStandard(size *Size) (stdin, stdout int, err error) {
	if size != nil {
		if t.pty, t.output, err = openPTY(*size); err != nil {
			return -1, -1, err
		}
		slave := int(t.pty.slave.Fd())
		t.writing, err = procfs.FileOf(slave)
		return slave, slave, err
	}
	if stdin, err = unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		return -1, -1, &os.PathError{Op: "open", Path: os.DevNull, Err: err}
	}
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		unix.Close(stdin)
		return -1, -1, os.NewSyscallError("pipe2", err)
	}
	t.output = pollable(pipe[0], "output")
	if t.writing, err = procfs.FileOf(pipe[0]); err != nil {
		unix.Close(stdin)
		unix.Close(pipe[1])
	}
	return stdin, pipe[1], err
}

// startLeader starts the leader with its limits. If it fails, the Tree is closed, and the leader does not run.
func (t *Tree) startLeader(
	ctx context.Context, spec Spec, attr *syscall.ProcAttr, limits []Limit,
) (enforced []Limit, err error) {
	s := t.sup
	var limiter limiter
	if t.pid, limiter, err = startLimited(spec.Path, spec.Args, attr, limits); err != nil {
		return nil, err
	}
	t.knowLeader()
	s.register(t)
	if limits, err = limiter.impose(ctx, t); err != nil {
		t.signalGroup(syscall.SIGKILL)
	}
	s.expectExit(t)
	if err != nil {
		<-t.known.Done()
		t.Close()
		t.cgroup = nil // Close removed it
	}
	return limits, err
}

// knowLeader makes the leader distinguishable from a later process with the same ID.
func (t *Tree) knowLeader() {
	if t.pidfd < 0 {
		t.readLeader()
	}
}

// StartCmd starts the caller's command in its own session, from the caller's thread. The Tree has no output. If the
// command's standard output is a pipe, processes that can write to it belong to the tree. After Close, the caller reaps
// the leader with cmd.Wait. StartCmd returns ErrForeignGroup or the error of cmd.Start.
func (s *Supervisor) StartCmd(cmd *exec.Cmd, mark Mark) (*Tree, error) {
	sys, err := ownSession(cmd.SysProcAttr)
	if err != nil {
		return nil, err
	}
	cmd.SysProcAttr = sys
	t := &Tree{sup: s, pidfd: -1, mark: mark, contained: true}
	t.finder = newFinder(t)
	_, t.wraps = s.lookAtIDs()
	if stdout, ok := cmd.Stdout.(*os.File); ok {
		if file, err := procfs.FileOf(int(stdout.Fd())); err == nil && file.IsPipe() {
			t.writing, t.contained = file, false
		}
	}
	if err := withDefaultSignals(cmd.Start); err != nil {
		return nil, err
	}
	t.pid = cmd.Process.Pid
	if t.pidfd, err = unix.PidfdOpen(t.pid, 0); err != nil {
		t.pidfd = -1
	} else if _, _, err := waitUnreaped(unix.P_PIDFD, t.pidfd, unix.WNOHANG); err != nil { // it was reaped
		unix.Close(t.pidfd)
		t.pidfd = -1
	}
	t.knowLeader()
	s.expectExit(t)
	return t, nil
}

// Unreaped reports whether PID is still the leader's: the leader runs, or is a zombie that neither Close nor another
// part of the program has reaped.
func (t *Tree) Unreaped() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.unreapedLocked()
}

func (t *Tree) unreapedLocked() bool {
	switch {
	case t.closed:
		return false
	case t.pidfd < 0:
		now, err := t.sup.table.Read(t.pid)
		return err == nil && now.ID == t.leader.ID && now.Parent == os.Getpid()
	}
	_, _, err := waitUnreaped(unix.P_PIDFD, t.pidfd, unix.WNOHANG)
	return err == nil
}

// signalGroup sends a signal to the leader's group only, even if the leader has exited. A scan reveals its errors.
func (t *Tree) signalGroup(sig syscall.Signal) (err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return os.ErrClosed
	}
	err = send(sig, func(sig syscall.Signal) error {
		return unix.PidfdSendSignal(t.pidfd, sig, nil, unix.PIDFD_SIGNAL_PROCESS_GROUP)
	})
	if err != nil && err != unix.ESRCH && err != unix.EPERM && t.unreapedLocked() { // before Linux 6.9
		err = send(sig, func(sig syscall.Signal) error { return unix.Kill(-t.pid, sig) })
	}
	return err
}

// outputIsOpen reports whether a process may have the output's pipe open for writing. It relies on the caller to close
// the pipe only at its end, or after the last End.
func (t *Tree) outputIsOpen() (open bool) {
	switch {
	case t.contained, t.pty != nil:
		return false
	case t.output == nil: // the pipe is the caller's
		return true
	}
	raw, err := t.output.SyscallConn()
	if err == nil {
		raw.Control(func(fd uintptr) {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd)}}, 0) // without events, it reports only POLLHUP
			open = n == 0 || err != nil
		})
	}
	return open
}

// Close reaps the leader if it has exited; a running one keeps running. cmd.Wait reaps the leader of StartCmd.
func (t *Tree) Close() {
	if t.pidfd >= 0 {
		t.exitedNow() // the report of the exit may be late on a busy machine
	}
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return
	}
	gone := t.reaped || t.exitSeen()
	switch {
	case !gone || t.reaped || t.starter == nil:
	case t.pidfd >= 0:
		reap(unix.P_PIDFD, t.pidfd)
	case t.unreapedLocked():
		reap(unix.P_PID, t.pid)
	}
	t.closed = true
	if t.pidfd >= 0 {
		unix.Close(t.pidfd)
	}
	t.mu.Unlock()
	t.sup.exits.forget(t)
	t.pty.close()
	t.SetExit(Exit{}, os.ErrClosed)
	t.forgetEscaped()
	if gone && t.starter != nil {
		t.sup.unregister(t)
	}
	t.cgroup.Remove() // a zombie would hold it
}

func (t *finder) forgetEscaped() {
	for _, handle := range t.escaped {
		handle.Close()
	}
	clear(t.escaped)
}

func reap(idType, id int) error {
	for {
		err := unix.Waitid(idType, id, nil, unix.WEXITED|unix.WNOHANG, nil)
		if err != unix.EINTR {
			return err
		}
	}
}
