// Package proc runs process trees: it starts a command, sees it exit without reaping it, limits what it may use, finds
// the processes that it started, and ends all of them. Each system has its own file behind the same face:
// proc_linux.go, proc_kqueue.go (macOS and FreeBSD), proc_windows.go, and proc_other.go, which fails with
// errors.ErrUnsupported. It may import procfs, cgroup and latch, and knows nothing of terminals or of the Agent
// Client Protocol.
//
// # No signal reaches another process
//
// The leader's number is also that of its group and its session. The system gives it to no other process while the
// leader runs, and while it is a zombie that was not reaped; a Tree reaps it in Close, and not before. On Linux the
// group is signalled through the leader's pidfd, which means no other group whatever became of the number (before Linux
// 6.9: by the number, while the leader is known to be unreaped). Every other process is signalled through a handle that
// was opened before the process was seen to be of the tree.
//
// # What callers owe
//
// A caller closes Tree.Output, each Tree, and then the Supervisor. Its program leaves children alone that are not its
// own: wait4(-1), or ignoring SIGCHLD, takes the leader's zombie away, and with it the number. That is detected, see
// ErrReaped. A program that has to reap every child sets Supervisor.HostReaps and calls Supervisor.Reaped. The leader
// of a Tree that StartCmd has made is the caller's to reap, after Tree.Close.
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

// Spec is a command to start.
type Spec struct {
	Path string   // the program's file
	Args []string // with the program's name
	Env  []string // "NAME=value"; not nil
	Dir  string

	// CommandLine is the command line on Windows, where programs take their arguments apart themselves.
	CommandLine string

	// Mark is a variable in Env, "NAME=value", by which processes that left the session are found.
	Mark Mark

	// Cgroup is a cgroup v2 directory to make one for the tree in. Empty: none. Linux only.
	Cgroup string

	// Files are inherited besides the standard ones, as descriptor 3 and so on. Not on Windows.
	Files []*os.File

	// Limits are what the command may use. A start fails with a *LimitError when one cannot be enforced.
	Limits []Limit

	// Stdin and Stderr are the command's standard input and error. Nil: the end of file, and the output's pipe. Not
	// with a PTY, and not on Windows.
	Stdin, Stderr *os.File

	// PTY is the size of a terminal that the command has as its standard input, output and error. Nil: none.
	PTY *Size
	// Contained says that all of the tree ends with the leader's children, as in a PID namespace: that a process has
	// the output open does not make it a member.
	Contained bool

	// KeepDetached says that a process with a session of its own is of the tree only while it can write to the output
	// (Linux), or not at all (macOS and FreeBSD). Not on Windows, and not with a Cgroup.
	KeepDetached bool
}

// Mark is a variable and a value: a process whose variable has the value, alone or in a list with colons, is of the
// tree.
type Mark struct{ Name, Value string }

// Limit is something that the system bounds.
type Limit struct {
	Name  string // the field of acpterm.Limits
	Value uint64 // in the field's unit, seconds for CPUTime
	By    string // what enforces it, once something does
	Tree  bool   // for the whole tree together
}

// LimitError is a limit that cannot be enforced.
type LimitError struct {
	Name   string // the limit's
	Reason string
	Err    error // the cause, where there is one
}

func (e *LimitError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("limit %s: %s: %v", e.Name, e.Reason, e.Err)
	}
	return fmt.Sprintf("limit %s: %s", e.Name, e.Reason)
}

func (e *LimitError) Unwrap() error { return e.Err }

// ErrReaped is a leader whose exit status is gone: another part of the host's program reaped it, or has the system do
// so.
var ErrReaped = errors.New("another part of this program reaped the command's process, so how it ended is not known")

// ErrForeignGroup is a command for StartCmd that is to be in another's process group, or to take the terminal.
var ErrForeignGroup = errors.New("the command must lead a session, and so cannot join a group or be in the foreground")

// Exit is how a leader ended: by itself with a code, or by a signal, whose POSIX name then is not empty.
type Exit struct {
	Code   uint32
	Signal string

	// CPUTime and PeakMemory (bytes) are what the leader and the children that it waited for used; zero where the
	// system does not tell before the leader is reaped.
	CPUTime    time.Duration
	PeakMemory int64

	// Reaped says that another part of the host's program reaped the leader. How it ended is known all the same.
	Reaped bool
}

// Status returns the code or the name of the signal, and nil for the other one.
func (e Exit) Status() (code *uint32, signal *string) {
	if e.Signal != "" {
		return nil, &e.Signal
	}
	return &e.Code, nil
}

// common is what a Tree has on every system. Its methods may be called concurrently.
type common struct {
	pid    int      // the leader's number, and its process group's
	output *os.File // the reading end of the output's pipe, or the PTY's master
	pty    *pty     // nil: the output is a pipe
	limits []Limit
	ExitStatus
}

// PID is the leader's process number.
func (c *common) PID() int { return c.pid }

// Output is the reading end of the pipe that the command has as its output, or of its PTY. The caller closes it.
func (c *common) Output() *os.File { return c.output }

// Limits are those that the system enforces.
func (c *common) Limits() []Limit { return c.limits }

// Unreaped reports whether PID is still the leader's: neither Close nor another part of the program has reaped it. On
// other systems than Linux it is taken to be.
func (c *common) Unreaped() bool { return true }

// ExitStatus is how a command ended, once that is known: a Tree's leader, or a command that something else runs. The
// zero value is not known yet. Its methods may be called concurrently.
type ExitStatus struct {
	claimed atomic.Bool // by the one call of SetExit that counts
	known   latch.Latch // exit and exitErr are set, and do not change any more
	exit    Exit
	exitErr error
}

// OnExit has f called once: when the leader has exited, which on Unix leaves it a zombie, or when that will not be
// seen. The error is ErrReaped then, os.ErrClosed after a Close on Unix, or one of the system's. f must not block.
func (s *ExitStatus) OnExit(f func(Exit, error)) { s.known.OnSet(func() { f(s.exit, s.exitErr) }) }

// SetExit says how the leader ended, and calls the functions of OnExit. Only the first call counts.
func (s *ExitStatus) SetExit(exit Exit, err error) {
	if s.claimed.CompareAndSwap(false, true) {
		s.exit, s.exitErr = exit, err
		s.known.Set()
	}
}

// hasExited reports whether it is known how the leader ended, or that it cannot be known.
func (s *ExitStatus) hasExited() bool { return s.known.IsSet() }

// pause waits for the leader's exit, at most for some time and until ctx ends.
func (s *ExitStatus) pause(ctx context.Context, atMost time.Duration) {
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	exited := s.known.Done()
	if s.hasExited() {
		exited = nil
	}
	select {
	case <-exited:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// stepPause is how long End waits at first before it asks again what runs, and maxPause is the longest that this grows
// to.
const (
	stepPause = 100 * time.Microsecond
	maxPause  = 20 * time.Millisecond
)
