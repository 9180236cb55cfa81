package acpterm

// Commands that run elsewhere: a Runner looks them up and starts them. A terminal keeps its promises for these commands
// as far as the Runner keeps those below.

import (
	"cmp"
	"context"
	"errors"
	"io"
	"syscall"

	"github.com/acpterm/acpterm/internal/output"
	"github.com/acpterm/acpterm/internal/proc"
)

// Runner runs commands elsewhere: scripts in a test (package acptermtest), or real commands on another machine or in a
// container (module remote). Its methods must be safe for concurrent use and return soon after the end of ctx.
//
// A Runner gets nothing of the local machine. The environment of a command consists of Base.Env, CommandOptions.Env,
// CommandOptions.Unattended and the request's variables, each overriding the ones before. Its directory is the
// request's, or else CommandOptions.Dir, or else Base.Dir.
//
// If an error of a method is or wraps an *Error, it keeps its kind; any other error becomes ErrInternal. After the end
// of ctx every error becomes ErrCancelled. A Runner returns ErrConnectionLost if it has lost its connection.
type Runner interface {
	// Base returns the default directory and environment. Each create calls it.
	Base(ctx context.Context) (Base, error)

	// RealDir returns an absolute directory with symbolic links resolved, for the Roots of sessions.
	RealDir(ctx context.Context, dir string) (string, error)

	// LookPath finds the program c.Args[0] as a start of c would: with the PATH of c.Env, in c.Dir. For a shell line
	// the program is CommandOptions.Shell or "sh", and c.Env is without the request's variables, so that the agent
	// cannot choose the shell. LookPath fails with an *Error of kind ErrCommandNotFound or ErrNotExecutable, or
	// ErrInvalidParams with the field "cwd" if the directory does not exist. A name that resolves differently in each
	// process, such as a link in /proc, is ErrNotExecutable: policy/shell looks up names for a shell. Policies are
	// asked after LookPath.
	LookPath(ctx context.Context, c Command) (Found, error)

	// Start starts a command. If ctx ends before Start returns, no process may remain.
	Start(ctx context.Context, r StartRequest) (Process, error)
}

// Base has the default directory and environment of a Runner's commands.
type Base struct {
	// Dir is the working directory, an absolute path. If empty, the Runner chooses it.
	Dir string
	// Env is the environment, "NAME=value", each name once.
	Env []string
}

// Found is the result of Runner.LookPath.
type Found struct {
	// Path is the file of the program, an absolute path without symbolic links.
	Path string
	// Name is the last element of the path before symbolic links were resolved. If empty, it is that of Path.
	Name string
	// Dir is the directory of the command without symbolic links. If empty, it is Command.Dir.
	Dir string
	// Pin identifies the present program and directory, in the Runner's own terms, for StartRequest.Pin. If empty, the
	// Runner does not notice replaced files.
	Pin string
}

// StartRequest is a command for Runner.Start.
type StartRequest struct {
	SessionID  SessionID
	TerminalID TerminalID
	// Command is the allowed command. The value of the variable ACPTERM_TERMINAL in its Env ends with the terminal's
	// id, which marks the processes of its tree.
	Command Command
	// Pin is the Pin of the Found of the decision. Start fails with ErrDenied if the program or the directory has been
	// replaced or changed since.
	Pin string
	// Limits bound the command. Start must fail if it cannot enforce one.
	Limits Limits
	// Output takes a copy of the standard output and standard error of the whole tree; a Write does not wait. The
	// Runner closes Output when no process is left to write, which may be long after the end of the command. After a
	// release a Write fails with os.ErrClosed. Its methods may be called concurrently.
	Output io.WriteCloser
}

// Process is a started command with its process tree. Its methods may be called concurrently, also after its end. Only
// Wait waits.
type Process interface {
	// Wait returns the exit status once the command has ended and all its own output has been written to
	// StartRequest.Output, even if other processes of the tree still run. It is called once. If the status has neither
	// an exit code nor a signal, waits for the terminal fail with ErrExitLost. An error of kind ErrExitLost or
	// ErrConnectionLost is returned by waits for the terminal; other errors become ErrInternal.
	Wait() (TerminalExitStatus, error)
	// Signal sends a signal to the whole tree. SIGKILL ends every process of it.
	Signal(sig syscall.Signal)
	// Gone is closed when the tree is gone or its state is no longer known. Wait then returns, if it has not before.
	Gone() <-chan struct{}
	// Err returns, once Gone is closed, why the state of the tree is not known, such as an error of kind
	// ErrConnectionLost, which kills and the release return. It is nil if the tree is gone.
	Err() error
	// Limits returns the enforced limits, which do not change.
	Limits() []EnforcedLimit
	// PID returns the PID of the command where it runs, for events and errors, or 0 if it is not known.
	PID() int
	// Close gives up the rest of the tree after the release of the terminal. Wait and Gone then return, if they have
	// not before.
	Close()
}

// runnerTree is a Runner's Process as a tree, and as the source of its output. Its methods may be called concurrently.
type runnerTree struct {
	proc.ExitStatus
	process Process
	output  *output.Writer
}

// startElsewhere has a Runner start a command.
func startElsewhere(ctx context.Context, r Runner, l StartRequest, to store) (*runnerTree, error) {
	w := output.NewWriter(to.buffer())
	l.Output = w
	var process Process
	var err error
	panicked := callHook("Runner's Start", func() { process, err = r.Start(ctx, l) })
	if err = cmp.Or(panicked, err); err != nil || process == nil {
		return nil, runnerError(ctx, l.Command, "cannot be started", err)
	}
	t := &runnerTree{process: process, output: w}
	go func() { t.SetExit(t.awaitExit()) }() // which ends when the Runner's Wait does: Close does not wait for it
	return t, nil
}

// runnerError is an error of a Runner's, or of a Sandbox's, as an *Error; reason is for those that are none. A nil err
// means that the Runner returned nothing.
func runnerError(ctx context.Context, c Command, reason string, err error) *Error {
	if ctx.Err() != nil {
		return &Error{Kind: ErrCancelled, Err: context.Cause(ctx)}
	}
	e, ok := errors.AsType[*Error](err)
	switch {
	case !ok:
		return &Error{Kind: ErrInternal, Command: c.Args[0], Reason: reason, Err: err}
	case e == nil:
		return &Error{Kind: ErrInternal, Command: c.Args[0], Reason: reason}
	case err != error(e):
		wrapped := *e
		wrapped.Err = err
		return &wrapped
	}
	return e
}

func (t *runnerTree) awaitExit() (proc.Exit, error) {
	var status TerminalExitStatus
	var err error
	panicked := callHook("Process's Wait", func() { status, err = t.process.Wait() })
	switch err = cmp.Or(panicked, err); {
	case err != nil:
		return proc.Exit{}, err
	case status.Signal != nil:
		return proc.Exit{Signal: *status.Signal}, nil
	case status.ExitCode != nil:
		return proc.Exit{Code: *status.ExitCode}, nil
	}
	return proc.Exit{}, &Error{Kind: ErrExitLost, Reason: "the Runner does not know how it ended"}
}

func (t *runnerTree) Gone() bool {
	select {
	case <-t.process.Gone():
		return t.process.Err() == nil
	default:
		return false
	}
}

// End returns at once where it is not known any more what is left; then err says why.
func (t *runnerTree) End(ctx context.Context, sig syscall.Signal) (left []int) {
	select {
	case <-t.process.Gone():
		return nil
	default:
	}
	callHook("Process's Signal", func() { t.process.Signal(sig) })
	select {
	case <-t.process.Gone():
		return nil
	case <-ctx.Done():
		return []int{t.process.PID()}
	}
}

// err is why it is not known whether something of the tree is left; nil while it may be known.
func (t *runnerTree) err() error {
	select {
	case <-t.process.Gone():
		return t.process.Err()
	default:
		return nil
	}
}

func (t *runnerTree) Limits() (limits []proc.Limit) {
	for _, l := range t.process.Limits() {
		limits = append(limits, proc.Limit{Name: l.Name, Value: uint64(max(l.Value, 0)), By: l.By, Tree: l.Tree})
	}
	return limits
}

func (t *runnerTree) PID() int       { return t.process.PID() }
func (t *runnerTree) Unreaped() bool { return true }
func (t *runnerTree) Close()         { t.SetExit(proc.Exit{}, errUnseen) }

// Drain has nothing to do: the Runner has written the output.
func (t *runnerTree) Drain(done func()) { done() }

// Stop is called once, by the release.
func (t *runnerTree) Stop() {
	t.output.Close()
	callHook("Process's Close", t.process.Close)
}

// errUnseen is why a wait fails when the tree was closed before the command's end was seen.
var errUnseen = errors.New("the command's end was not seen: its tree was closed first")
