package acpterm

// One process tree: start it, see its leader exit, signal all of it, see all of it gone. Nothing here
// knows what a terminal is. Each system's file (procgroup_linux.go, _kqueue.go, _windows.go) provides
// procGroup with the methods that this page names, so that the callers are the same everywhere:
//
//	startGroup(Command) (*procGroup, *os.File, error)
//	    starts the command with standard input at end of file and one pipe for both outputs, and
//	    returns the pipe's other end, on which deadlines work.
//	awaitExit() (exit, error)
//	    returns when the leader has exited, without reaping it. For one caller.
//	signal(syscall.Signal) error
//	    sends a signal to the whole group. Concurrent with everything.
//	awaitGone(context.Context) (pids []int)
//	    returns nil when the leader and all of its group have exited, or those that have not when the
//	    context ends first.
//	close()
//	    reaps the leader. After it signal reaches nobody.
//
// # No signal reaches a stranger
//
// A process number is given to a new process only after the old one was reaped, and the number of a
// group only when no process is left in it. The leader is the child that this package started; nobody
// else can reap it, and this package does so only in close. Until then its number, which is the group's
// too, is its own, whether it runs or is a zombie. close and signal exclude each other.

import "os"

// exit is how a leader ended: by itself with a code, or by a signal, whose POSIX name then is not empty.
type exit struct {
	code   uint32
	signal string
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
	kind := ErrInternal
	if os.IsPermission(err) || isExecFormat(err) {
		kind = ErrNotExecutable
	}
	return &Error{Kind: kind, Command: c.Args[0], Reason: "cannot be started", Err: err}
}
