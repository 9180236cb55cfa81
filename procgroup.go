package acpterm

// From a Terminal to internal/proc: what a process tree is to a terminal, how one is started on this system, and errors of
// proc as errors of this package. What differs between systems is in procgroup_unix.go and procgroup_windows.go.

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/acpterm/acpterm/internal/lookup"
	"github.com/acpterm/acpterm/internal/proc"
)

// tree is a command that was started and all that it starts: a proc.Tree, or a Runner's (runner.go).
type tree interface {
	// OnExit has f called once, when the command has exited, or with an error when that will not be seen.
	OnExit(f func(proc.Exit, error))
	// End sends a signal to the whole tree, at least once, and returns when nothing of it runs, or when ctx ends, then
	// with the processes that do. One goroutine at a time calls it.
	End(ctx context.Context, sig syscall.Signal) (left []int)
	// Close gives up what is left of it.
	Close()
	PID() int
	Limits() []proc.Limit
}

// source is where a terminal's output comes from: a capture.Reader, or a Runner's command.
type source interface {
	// Drain calls done, which must not wait, when every byte that was written before the call is in the ring buffer.
	Drain(done func())
	// Stop drains, and returns when nothing more comes.
	Stop()
}

// statusOf is an exit in the protocol's terms.
func statusOf(e proc.Exit) TerminalExitStatus {
	if e.Signal != "" {
		return TerminalExitStatus{Signal: &e.Signal}
	}
	return TerminalExitStatus{ExitCode: &e.Code}
}

// startError is the error for a command that was resolved and still did not start. The system's error number does not
// say whether it is about the directory or the program, and either may be gone by now, so startError looks at both
// again.
func startError(c Command, err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e // it says what is wrong
	}
	if limit, ok := errors.AsType[*proc.LimitError](err); ok {
		return limitError(limit.Name, limit.Reason, limit.Err)
	}
	failed := &Error{Kind: ErrInternal, Command: c.Args[0], Reason: "cannot be started", Err: err}
	if !failedToExecute(err) {
		return failed
	}
	if _, err := resolveDir(c.Dir, ""); err != nil {
		return err
	}
	_, missing := lookup.Executable(c.Path, c.Env)
	switch {
	case errors.Is(missing, fs.ErrNotExist):
		return &Error{Kind: ErrCommandNotFound, Command: c.Args[0], Err: missing}
	case errors.Is(err, fs.ErrNotExist):
		failed.Kind, failed.Field, failed.Reason = ErrNotExecutable, "command", "its interpreter cannot be found"
	case missing != nil || errors.Is(err, fs.ErrPermission) || isExecFormat(err):
		failed.Kind, failed.Field = ErrNotExecutable, "command"
	}
	return failed
}

// failedToExecute reports whether an error is of the start of the program itself: from os/exec, or of syscall.StartProcess.
func failedToExecute(err error) bool {
	if _, ok := err.(syscall.Errno); ok {
		return true
	}
	e, ok := err.(*os.PathError)
	return ok && e.Op == "fork/exec"
}
