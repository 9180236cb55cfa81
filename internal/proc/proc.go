// Package proc runs process trees. It starts a command, sees it exit without reaping it, limits its resources, finds
// the processes that it started, and ends all of them. Each system has its own file with the same API: proc_linux.go,
// proc_kqueue.go (macOS and FreeBSD), proc_windows.go, and proc_other.go, which fails with errors.ErrUnsupported. The
// package may import procfs, cgroup and latch, and knows nothing about terminals or the Agent Client Protocol.
//
// # No signal reaches another process
//
// The leader's process ID is also the ID of its process group and its session. The system does not reuse it while the
// leader runs or is an unreaped zombie; a Tree reaps it in Close, and not before. On Linux the group is signalled
// through the leader's pidfd, which never means another group, even if the ID has been reused (before Linux 6.9: by ID,
// while the leader is known to be unreaped). Every other process is signalled through a handle opened before the
// process was identified as a member of the tree.
//
// # Requirements for callers
//
// A caller closes Tree.Output, each Tree, and then the Supervisor. Its program must only wait for children that it
// started itself: wait4(-1), or ignoring SIGCHLD, reaps the leader and so frees its process ID. Trees detect this; see
// ErrReaped. If StartCmd made the Tree, the caller reaps the leader, after Tree.Close.
package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/acpterm/acpterm/internal/latch"
)

// Spec describes a command to start.
type Spec struct {
	Path string   // the path of the program
	Args []string // including the program's name
	Env  []string // "NAME=value"; not nil
	Dir  string

	// CommandLine is the command line on Windows, where programs split it into arguments themselves.
	CommandLine string

	// Mark is a variable in Env, "NAME=value". It identifies processes that have left the session.
	Mark Mark

	// Cgroup is the cgroup v2 directory to create the tree's cgroup in. If empty, the tree has no cgroup. Linux only.
	Cgroup string

	// Files are inherited in addition to the standard files, starting at descriptor 3. Not on Windows.
	Files []*os.File

	// Limits bounds the command's resources. Start returns a *LimitError if a limit cannot be enforced.
	Limits []Limit

	// Stdin and Stderr are the command's standard input and error. If Stdin is nil, the command reads end of file; if
	// Stderr is nil, standard error goes to the output's pipe. Neither can be used with a PTY, nor Stderr on Windows.
	Stdin, Stderr *os.File

	// PTY is the size of a terminal to use as the command's standard input, output and error. If nil, it has none.
	PTY *Size
	// Contained means that the whole tree ends with the leader's children, as in a PID namespace. A process is then not
	// a member just because it has the output open.
	Contained bool

	// KeepDetached means that a process in another session belongs to the tree only while it can write to the output
	// (Linux), or not at all (macOS and FreeBSD). It cannot be used on Windows or with a Cgroup.
	KeepDetached bool
}

// Mark is an environment variable and its value. A process belongs to the tree if its variable has this value, alone or
// as an element of a colon-separated list.
type Mark struct{ Name, Value string }

// Limit is a bound on a resource, enforced by the system.
type Limit struct {
	Name  string // the field of acpterm.Limits
	Value uint64 // in the field's unit; seconds for CPUTime
	By    string // the mechanism that enforces it, or empty if not enforced yet
	Tree  bool   // bounds the whole tree together
}

// LimitError reports a limit that cannot be enforced.
type LimitError struct {
	Name   string // the limit's name
	Reason string
	Err    error // the cause, or nil
}

func (e *LimitError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("limit %s: %s: %v", e.Name, e.Reason, e.Err)
	}
	return fmt.Sprintf("limit %s: %s", e.Name, e.Reason)
}

func (e *LimitError) Unwrap() error { return e.Err }

// ErrReaped means that the leader's exit status is lost, because another part of the host's program reaped it.
var ErrReaped = errors.New("another part of this program reaped the command's process, so how it ended is not known")

// ErrForeignGroup is returned by StartCmd for a command configured to join another process group or take the terminal.
var ErrForeignGroup = errors.New("the command must lead a session, and so cannot join a group or be in the foreground")

// Exit describes how a leader ended: with an exit code, or, if Signal is not empty, by that signal (its POSIX name).
type Exit struct {
	Code   uint32
	Signal string

	// CPUTime and PeakMemory (in bytes) are the resources used by the leader and by the children it waited for. They
	// are zero if the system does not report them before the leader is reaped.
	CPUTime    time.Duration
	PeakMemory int64

	// Reaped means that another part of the host reaped the leader. Unless the error is ErrReaped, the rest is valid.
	Reaped bool
}

// Status returns either the code or the signal's name. The other result is nil.
func (e Exit) Status() (code *uint32, signal *string) {
	if e.Signal != "" {
		return nil, &e.Signal
	}
	return &e.Code, nil
}

// common is the part of a Tree shared by all systems. Its methods are safe for concurrent use.
type common struct {
	pid    int      // the leader's process ID, and its group's ID
	output *os.File // the read end of the output's pipe, or the PTY's master
	pty    *pty     // nil if the output is a pipe
	limits []Limit
	ExitStatus
}

// PID returns the leader's process ID.
func (c *common) PID() int { return c.pid }

// Output returns the read end of the command's output pipe, or the master of its PTY. The caller closes it.
func (c *common) Output() *os.File { return c.output }

// Limits returns the limits that the system enforces.
func (c *common) Limits() []Limit { return c.limits }

// Unreaped reports whether PID is still the leader's: neither Close nor another part of the program has reaped it.
// Outside Linux, it always returns true.
func (c *common) Unreaped() bool { return true }

// ExitStatus tells how a command ended: a Tree's leader, or a command run by something else. The zero value means that
// the outcome is not known yet. Its methods are safe for concurrent use.
type ExitStatus struct {
	claimed atomic.Bool // by the first call of SetExit
	known   latch.Latch // exit and exitErr are set, and no longer change
	exit    Exit
	exitErr error
}

// OnExit calls f once, when the leader has exited (on Unix, it is a zombie then) or when its exit cannot be observed.
// In the second case the error is ErrReaped, os.ErrClosed after a Close on Unix, or a system error. f must not block.
func (s *ExitStatus) OnExit(f func(Exit, error)) { s.known.OnSet(func() { f(s.exit, s.exitErr) }) }

// SetExit records how the leader ended, and calls the functions passed to OnExit. Only the first call has an effect.
func (s *ExitStatus) SetExit(exit Exit, err error) {
	if s.claimed.CompareAndSwap(false, true) {
		s.exit, s.exitErr = exit, err
		s.known.Set()
	}
}

// HasExited reports whether the leader's exit is known, or known to be unobservable.
func (s *ExitStatus) HasExited() bool { return s.known.IsSet() }

// pause waits until the leader exits, unless it already has, atMost has passed, or ctx is done.
func (s *ExitStatus) pause(ctx context.Context, atMost time.Duration) {
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	exited := s.known.Done()
	if s.HasExited() {
		exited = nil
	}
	select {
	case <-exited:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// exiting returns the doubt about members after SIGKILL, or nil without any.
func exiting(killed []int) error {
	if killed == nil {
		return nil
	}
	return fmt.Errorf("processes %v have been killed, and are exiting", killed)
}

// stepPause is End's first pause between two checks for running processes. The pauses grow up to maxPause.
const (
	stepPause = 100 * time.Microsecond
	maxPause  = 20 * time.Millisecond
)
