package acpterm

// One process tree: start it, see its leader exit, signal all of it, see all of it gone. Nothing here
// knows what a terminal is. Each system's file (procgroup_linux.go, _kqueue.go, _sweep.go, _windows.go) provides
// procGroup with the methods that this page names, so that the callers are the same everywhere:
//
//	startGroup(Command, groupOptions) (*procGroup, error)
//	    starts the command with standard input at end of file and one pipe for both outputs; the field
//	    output is the pipe's other end, on which deadlines work; the field enforced has the limits that hold.
//	onExit(busy *sync.WaitGroup, f func(exit, error))
//	    has f called when the leader has exited, without reaping it, or when close gives it up, which is an error. f must not
//	    wait. A goroutine that this takes is in busy. To be called once.
//	isGone() bool
//	    reports whether one look is enough to know that nothing of the tree is left. False says nothing.
//	end(context.Context, syscall.Signal) (gone bool, left []int)
//	    sends a signal to the whole tree, and to what joins it meanwhile. It returns when the leader and all of its
//	    tree have exited, or, with the processes that have not, when the context ends first. For one caller at a
//	    time, concurrent with f.
//	close()
//	    reaps the leader. After it a signal reaches nobody.
//
// # No signal reaches a stranger
//
// A process number is given to a new process only after the old one was reaped, and the number of a
// group only when no process is left in it. The leader is the child that this package started; nobody
// else can reap it, and this package does so only in close. Until then its number, which is the group's
// too, is its own, whether it runs or is a zombie. close and a signal to the group exclude each other.

import (
	"context"
	"errors"
	"os"
	"sync"
	"syscall"
	"time"
)

// tree is what a terminal knows of one: a procGroup, or what a Runner has started (runner.go). This page says what the
// methods promise; leader is the leader's number, limits are those that hold.
type tree interface {
	onExit(busy *sync.WaitGroup, f func(exit, error))
	isGone() bool
	end(context.Context, syscall.Signal) (gone bool, left []int)
	close()
	leader() int
	limits() []EnforcedLimit
}

func (g *procGroup) leader() int             { return g.pid }
func (g *procGroup) limits() []EnforcedLimit { return g.enforced }

// groupOptions are what a tree is started with besides its command.
type groupOptions struct {
	mark      string     // tells the tree's processes from others: the terminal's id
	cgroup    string     // the directory to make a cgroup for it in; empty for none
	limits    Limits     // what it may use
	files     []*os.File // what it inherits besides its three, as descriptor 3 and so on; none on Windows
	inherited *inherited // of the manager
	trees     *trees     // where it is entered for as long as its leader's number is its own
	pause     pauseFunc  // how a start waits on the manager's thread; not on Windows
}

// exit is how a leader ended: by itself with a code, or by a signal, whose POSIX name then is not empty.
type exit struct {
	code   uint32
	signal string
	used   usage
}

// usage is what the leader and the children that it waited for used; zero where the system does not tell before it is
// reaped.
type usage struct {
	cpu    time.Duration
	memory int64 // bytes, at the peak, of the one that used most
}

// status is the exit in the protocol's terms.
func (e exit) status() TerminalExitStatus {
	if e.signal != "" {
		return TerminalExitStatus{Signal: &e.signal}
	}
	return TerminalExitStatus{ExitCode: &e.code}
}

// startError is the error for a command that was resolved and still did not start.
func startError(c Command, err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e // it says what is wrong
	}
	kind := ErrInternal
	if os.IsPermission(err) || isExecFormat(err) {
		kind = ErrNotExecutable
	}
	return &Error{Kind: kind, Command: c.Args[0], Reason: "cannot be started", Err: err}
}
