package acpterm

// From a Terminal to internal/proc or to a Runner: what a process tree is to a terminal, how a command is started, and
// errors of proc as errors of this package. What differs between systems is in procgroup_unix.go and
// procgroup_windows.go.

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/acpterm/acpterm/internal/capture"
	"github.com/acpterm/acpterm/internal/lookup"
	"github.com/acpterm/acpterm/internal/proc"
)

// tree is a command that was started and all that it starts: a proc.Tree, or a Runner's (runner.go).
type tree interface {
	// OnExit has f called once, when the command has exited, or with an error when that will not be seen.
	OnExit(f func(proc.Exit, error))
	// Gone reports whether it is certain that nothing of it runs. The goroutine that calls End calls it.
	Gone() bool
	// End sends a signal to the whole tree, at least once, and returns when nothing of it runs, or when ctx ends, then
	// with the processes that do. One goroutine at a time calls it.
	End(ctx context.Context, sig syscall.Signal) (left []int)
	// Close gives up what is left of it.
	Close()
	PID() int
	// Unreaped reports whether PID is still the command's: no part of the program has reaped it.
	Unreaped() bool
	Limits() []proc.Limit
}

// source is where a terminal's output comes from: a capture.Reader, or a Runner's command.
type source interface {
	// Drain calls done, which must not wait, when every byte that was written before the call is in the ring buffer.
	Drain(done func())
	// Stop drains, and returns when nothing more comes.
	Stop()
}

// start runs the command. The caller has made the terminal known already. same fails if the program is not what was
// approved.
func (t *Terminal) start(ctx context.Context, allowed authorized, s settings, same func() error) error {
	defer t.started.Set()
	t.command = allowed.proposal.Command
	t.command.Env = lookup.Mark(t.command.Env, string(t.id))
	var err error
	if s.manager.Runner != nil {
		err = t.startElsewhere(ctx, s.manager.Runner, allowed.pin)
	} else {
		err = t.startHere(ctx, allowed, s, same)
	}
	if err != nil {
		err = inOperation("create", t.session, err)
		t.fail(err)
		return err
	}
	t.mu.Lock()
	t.state, t.startedAt = StateRunning, time.Now()
	if t.timeout > 0 {
		t.timer = time.AfterFunc(t.timeout, t.expire)
	}
	started := t.startedAt
	t.mu.Unlock()
	if t.events.Observed() {
		t.events.emit(&StartEvent{Subject: t.subject(), Time: started, Terminal: t})
	}
	t.busy.Add(1)
	t.tree.OnExit(t.exited)
	return t.recordStart()
}

// startHere has this system run the command.
func (t *Terminal) startHere(ctx context.Context, allowed authorized, s settings, same func() error) (err error) {
	wrapped := Wrapped{Command: t.command}
	sandbox := s.commands.Sandbox
	if sandbox != nil {
		panicked := callHook("Sandbox", func() { wrapped, err = sandbox.Wrap(ctx, allowed.proposal) })
		defer func() {
			for _, file := range wrapped.Files {
				file.Close()
			}
		}()
		if err = cmp.Or(panicked, err); err != nil {
			return runnerError(ctx, t.command, "the Sandbox failed", err)
		}
		wrapped.Command = wrapped.Command.withArgs()
		wrapped.Command.Env = lookup.Mark(lookup.Once(lookup.Key, wrapped.Command.Env), string(t.id))
	}
	if err := t.record(s.manager.Journal); err != nil {
		return err
	}
	if err := same(); err != nil { // last, since what comes before may take a while
		return err
	}
	command, err := allowed.pinned.start(wrapped.Command)
	if err != nil {
		return err
	}
	limits, err := t.limits.asked("")
	if err != nil {
		return err
	}
	spec := proc.Spec{
		Mark:   proc.Mark{Name: lookup.TerminalVariable, Value: string(t.id)},
		Cgroup: t.cgroup, Limits: limits, Files: wrapped.Files, Contained: wrapped.PIDNamespace,
		KeepDetached: s.manager.KeepDetached,
	}
	size := t.store.size()
	if size != nil {
		spec.PTY = &proc.Size{Columns: uint16(size.Columns), Rows: uint16(size.Rows)}
	}
	if err := setCommand(&spec, command); err != nil {
		return err
	}
	tree, err := t.processes.Start(ctx, spec)
	if err != nil {
		if ctx.Err() != nil {
			return &Error{Kind: ErrCancelled, Err: context.Cause(ctx)}
		}
		return t.notStarted(command, err, sandbox != nil)
	}
	t.tree = tree
	if size != nil {
		t.pty, t.source = tree, capture.StartPTY(tree.Output(), t.store, &t.busy)
		return nil
	}
	t.source = capture.Start(tree.Output(), t.store, &t.busy)
	return nil
}

// notStarted is the error for a command that did not start. A program that a Sandbox names is not the agent's.
func (t *Terminal) notStarted(c Command, err error, wrapped bool) error {
	err = startError(c, err)
	if e, ok := err.(*Error); ok && wrapped && (e.Kind == ErrCommandNotFound || e.Kind == ErrNotExecutable) {
		return &Error{Kind: ErrInternal, Reason: "the Sandbox's program cannot be started", Err: e.Err}
	}
	return err
}

// startElsewhere has a Runner run the command.
func (t *Terminal) startElsewhere(ctx context.Context, r Runner, pin string) error {
	tree, err := startElsewhere(ctx, r, StartRequest{
		SessionID: t.session, TerminalID: t.id, Command: t.command, Pin: pin, Limits: t.limits,
	}, t.store)
	if err != nil {
		return err
	}
	t.tree, t.source = tree, tree
	return nil
}

// fail makes it a terminal whose command never ran.
func (t *Terminal) fail(err error) {
	t.store.commandEnded()
	t.store.Close()
	t.mu.Lock()
	t.state, t.end.err = StateFailed, err
	t.mu.Unlock()
	t.ended.Set()
}

// startError is the error for a command that was resolved and still did not start. The system's error number does not
// say whether it is about the directory or the program, and either may be gone by now, so startError looks at both
// again.
func startError(c Command, err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e // it says what is wrong
	}
	if limit, ok := errors.AsType[*proc.LimitError](err); ok {
		return &Error{Kind: ErrInternal, Field: "Limits." + limit.Name, Reason: limit.Reason, Err: limit.Err}
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
	case missing != nil || errors.Is(err, fs.ErrPermission) || lookup.IsExecFormat(err):
		failed.Kind, failed.Field = ErrNotExecutable, "command"
	}
	return failed
}

// failedToExecute reports whether an error is of the start of the program itself: of syscall.ForkExec, in the form that
// os/exec gives it, or of syscall.StartProcess.
func failedToExecute(err error) bool {
	if _, ok := err.(syscall.Errno); ok {
		return true
	}
	e, ok := err.(*os.PathError)
	return ok && e.Op == "fork/exec"
}
