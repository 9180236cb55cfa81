package acpterm

// Commands that run somewhere else than on this system: a Runner looks up what it is asked for and starts it. Here is
// what a terminal sees of it. All that is promised of terminals is promised of these, as far as the Runner keeps its
// part.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/acpterm/acpterm/internal/lookup"
	"github.com/acpterm/acpterm/internal/output"
	"github.com/acpterm/acpterm/internal/proc"
)

// Runner runs commands in place of this system: made-up ones in a test (the package acptermtest has such a Runner), in
// a container, on another machine. Its methods must be safe for concurrent use.
//
// It gets nothing of this system's: a command's directory and environment are those that the options, the session and
// the request set. What is not set is the Runner's choice: Command.Dir is empty then, and Command.Env has no PATH.
//
// An error of its methods that is an *Error, or wraps one, has that one's kind; any other is ErrInternal. After the end
// of ctx every error is ErrCancelled.
type Runner interface {
	// LookPath returns the file of the program that c.Args[0] names, an absolute path, as a start of c would find it:
	// with the PATH of c.Env, in c.Dir. It follows links, if there are any. For a shell line the program is "sh". It
	// fails with an *Error of kind ErrCommandNotFound or ErrNotExecutable, or ErrInvalidParams with the field "cwd" if
	// it has no such directory. Policies are asked after it.
	LookPath(ctx context.Context, c Command) (path string, err error)

	// Start starts a command. When ctx ends before Start returns, nothing must be left running.
	Start(ctx context.Context, l StartRequest) (Process, error)
}

// StartRequest is what a Runner starts.
type StartRequest struct {
	SessionID  SessionID
	TerminalID TerminalID
	// Command is what was allowed. Its Env has the variable ACPTERM_TERMINAL with, at its end, the terminal's id, which
	// tells what belongs to it from everything else.
	Command Command
	// Limits are what the command may use. Start has to fail if it cannot see to one.
	Limits Limits
	// Output takes what the command and those that it started write, standard output and standard error together, and
	// copies it: a Write waits for nothing. The Runner closes it when no process is left that could write, which may be
	// long after the command's end. After a release a Write fails with os.ErrClosed. Its methods may be called
	// concurrently.
	Output io.WriteCloser
}

// Process is a command that a Runner has started, and what that started: a tree. Its methods may be called
// concurrently, and after its end, too.
type Process interface {
	// Wait returns how the command ended, when it has and when all that it wrote itself has been written to
	// StartRequest.Output, whatever it left running. It is called once.
	Wait() (TerminalExitStatus, error)
	// Signal sends a signal to the whole tree, and waits for nothing. SIGKILL ends all of it.
	Signal(sig syscall.Signal)
	// Gone is closed when nothing of the tree is left. Wait returns then, if it has not before.
	Gone() <-chan struct{}
	// PID is the number of the command's process where it runs, for people: events and errors have it.
	PID() int
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
	return proc.Exit{}, &Error{Kind: ErrInternal, Reason: "the Runner's exit status has neither a code nor a signal"}
}

func (t *runnerTree) Gone() bool {
	select {
	case <-t.process.Gone():
		return true
	default:
		return false
	}
}

func (t *runnerTree) End(ctx context.Context, sig syscall.Signal) (left []int) {
	if t.Gone() {
		return nil
	}
	callHook("Process's Signal", func() { t.process.Signal(sig) })
	select {
	case <-t.process.Gone():
		return nil
	case <-ctx.Done():
		return []int{t.process.PID()}
	}
}

func (t *runnerTree) PID() int             { return t.process.PID() }
func (t *runnerTree) Unreaped() bool       { return true }
func (t *runnerTree) Limits() []proc.Limit { return nil }
func (t *runnerTree) Close()               { t.SetExit(proc.Exit{}, errUnseen) }

// Drain has nothing to do: the Runner has written the output.
func (t *runnerTree) Drain(done func()) { done() }
func (t *runnerTree) Stop()             { t.output.Close() }

// errUnseen is why a wait fails when the tree was closed before the command's end was seen.
var errUnseen = errors.New("the command's end was not seen: its tree was closed first")

// lookups is how the names in a request become a command: on this system, or where a Runner runs it. The zero value is
// this system.
type lookups struct{ runner Runner }

// dir returns the directory that a command will run in: what the request asks for, else the fallback, else the host's
// own, or with a Runner none.
func (l lookups) dir(cwd, fallback string) (string, error) {
	if l.runner == nil {
		return resolveDir(cwd, fallback)
	}
	cwd = cmp.Or(cwd, fallback)
	switch { // what is absolute there need not be so here
	case cwd == "":
		return "", nil
	case filepath.IsAbs(cwd):
		return filepath.Clean(cwd), nil
	case path.IsAbs(cwd):
		return path.Clean(cwd), nil
	}
	return "", invalidField("cwd", "must be an absolute path")
}

// program returns the file of a command's program.
func (l lookups) program(ctx context.Context, c Command) (string, error) {
	if l.runner == nil {
		return lookProgram(c.Args[0], c.Dir, c.Env)
	}
	var found string
	var err error
	panicked := callHook("Runner's LookPath", func() { found, err = l.runner.LookPath(ctx, c) })
	if err = cmp.Or(panicked, err); err != nil || found == "" {
		return "", runnerError(ctx, c, "cannot be looked up", err)
	}
	return found, nil
}

// shell makes c run a line.
func (l lookups) shell(ctx context.Context, c Command, line string) (_ Command, err error) {
	c.ShellLine = line
	if l.runner == nil {
		if c.Path, c.Args, err = lookup.Shell(line); err != nil {
			return c, lookupError(err)
		}
		return c, nil
	}
	c.Args = []string{"sh", "-c", line}
	c.Path, err = l.program(ctx, c)
	return c, err
}

// file returns the file of a command's program without links, and the last part of the path that it was found at.
func (l lookups) file(ctx context.Context, c Command) (path, name string, err error) {
	found, err := l.program(ctx, c)
	if err != nil {
		return "", "", err
	}
	if path = found; l.runner == nil {
		if path, err = filepath.EvalSymlinks(found); err != nil {
			return "", "", &Error{Kind: ErrCommandNotFound, Command: c.Args[0], Err: err}
		}
	}
	return path, filepath.Base(found), nil
}

// roots are directories without links.
func (l lookups) roots(roots []string) ([]string, error) {
	resolved := slices.Clone(roots)
	for i, root := range roots {
		var err error
		if resolved[i], err = l.root(root); err != nil {
			return nil, invalidField(fmt.Sprintf("roots[%d]", i), err.Error())
		}
	}
	return resolved, nil
}

// root is a directory without links.
func (l lookups) root(root string) (string, error) {
	if l.runner == nil {
		return lookup.RealDir(root)
	}
	dir, err := l.dir(root, root)
	if err != nil || root == "" {
		return "", errors.New("must be an absolute path")
	}
	return dir, nil
}
