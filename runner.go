package acpterm

// Commands that run somewhere else than on this system: a Runner looks up what it is asked for and starts it. Here is
// what a terminal sees of it. All that is promised of terminals is promised of these, as far as the Runner keeps its
// part.

import (
	"cmp"
	"context"
	"errors"
	"io"
	"syscall"

	"github.com/acpterm/acpterm/internal/output"
	"github.com/acpterm/acpterm/internal/proc"
)

// Runner runs commands in place of this system: made-up ones in a test (the package acptermtest has such a Runner), on
// another machine or in a container (the module remote has one). Its methods must be safe for concurrent use, and
// return soon after the end of ctx.
//
// It gets nothing of this system's. A command's environment are the options' and the request's variables over those of
// Base, with CommandOptions.Unattended; its directory is the request's or the options', or that of Base.
//
// An error of its methods that is an *Error, or wraps one, has that one's kind; any other is ErrInternal. After the end
// of ctx every error is ErrCancelled. Where the connection to what runs the commands is lost, it is ErrConnectionLost.
type Runner interface {
	// Base returns what commands have there that neither options nor requests set. Each create asks for it.
	Base(ctx context.Context) (Base, error)

	// RealDir returns a directory, an absolute path, without symbolic links. Roots of sessions are resolved by it.
	RealDir(ctx context.Context, dir string) (string, error)

	// LookPath finds the program that c.Args[0] names as a start of c would: with the PATH of c.Env, in c.Dir. For a
	// shell line the program is that of CommandOptions.Shell, or "sh", and c.Env is what commands inherit, so that no
	// variable of the agent's decides about it. It fails with an *Error of kind ErrCommandNotFound or ErrNotExecutable,
	// or ErrInvalidParams with the field "cwd" if it has no such directory. A name that leads elsewhere for each
	// process, as by a link in /proc, is ErrNotExecutable: policy/shell asks for names that a shell will look up.
	// Policies are asked after it.
	LookPath(ctx context.Context, c Command) (Found, error)

	// Start starts a command. When ctx ends before Start returns, nothing must be left running.
	Start(ctx context.Context, r StartRequest) (Process, error)
}

// Base are the directory and the environment that commands of a Runner have by default.
type Base struct {
	// Dir is the working directory, an absolute path. Empty: the Runner's choice, which is not known.
	Dir string
	// Env is the environment, "NAME=value", each name once.
	Env []string
}

// Found is what a Runner found of a command.
type Found struct {
	// Path is the program's file: an absolute path without symbolic links.
	Path string
	// Name is the last part of the path that the program was found at, before links were followed. Empty: that of Path.
	Name string
	// Dir is the command's directory without symbolic links. Empty: as it is in the Command.
	Dir string
	// Pin stands for this program and this directory as they are now, in the Runner's own terms: StartRequest.Pin.
	// Empty: the Runner does not tell a file that was replaced from the one before.
	Pin string
}

// StartRequest is what a Runner starts.
type StartRequest struct {
	SessionID  SessionID
	TerminalID TerminalID
	// Command is what was allowed. Its Env has the variable ACPTERM_TERMINAL with, at its end, the terminal's id, which
	// tells what belongs to it from everything else.
	Command Command
	// Pin is the Pin of the Found that was decided about. Start fails with ErrDenied if the program or the directory is
	// another one now, or has been changed.
	Pin string
	// Limits are what the command may use. Start has to fail if it cannot see to one.
	Limits Limits
	// Output takes what the command and those that it started write, standard output and standard error together, and
	// copies it: a Write waits for nothing. The Runner closes it when no process is left that could write, which may be
	// long after the command's end. After a release a Write fails with os.ErrClosed. Its methods may be called
	// concurrently.
	Output io.WriteCloser
}

// Process is a command that a Runner has started, and what that started: a tree. Its methods may be called
// concurrently, and after its end, too. None but Wait waits for anything.
type Process interface {
	// Wait returns how the command ended, when it has and when all that it wrote itself has been written to
	// StartRequest.Output, whatever it left running. It is called once. A status with neither a code nor a signal is an
	// end of which more is not known: waits for the terminal fail with ErrExitLost. So they do with an error of kind
	// ErrExitLost or ErrConnectionLost, and with ErrInternal for any other.
	Wait() (TerminalExitStatus, error)
	// Signal sends a signal to the whole tree, and waits for nothing. SIGKILL ends all of it.
	Signal(sig syscall.Signal)
	// Gone is closed when nothing of the tree is left, or when that cannot be known any more. Wait returns then, if it
	// has not before.
	Gone() <-chan struct{}
	// Err says, once Gone is closed, it cannot be known whether something of the tree is left, such as an error of
	// kind ErrConnectionLost; kills and the release fail with it. It is nil if nothing is left.
	Err() error
	// Limits are the limits that hold. It does not change.
	Limits() []EnforcedLimit
	// PID is the number of the command's process where it runs, for people: events and errors have it. 0: not known.
	PID() int
	// Close is called once the terminal is released: nothing is asked of the tree any more, and what is left of it is
	// given up. Wait and Gone return then, if they have not before.
	Close()
}

// runnerTree is a Runner's Process as a tree, and as the source of its output. Its methods may be called concurrently.
type runnerTree struct {
	proc.ExitStatus
	process Process
	output  *output.Writer
}

// startElsewhere has a Runner start a command.
func startElsewhere(ctx context.Context, r Runner, l StartRequest, ring *output.Buffer) (*runnerTree, error) {
	w := output.NewWriter(ring)
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
