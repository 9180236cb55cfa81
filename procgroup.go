package acpterm

// Starting a command on the local machine: on Unix as the leader of its own session and process group, on Windows in
// its own job object. procgroup_unix.go and procgroup_windows.go have the differences between systems; internal/proc
// starts, finds and ends the process tree.

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/acpterm/acpterm/internal/capture"
	"github.com/acpterm/acpterm/internal/lookup"
	"github.com/acpterm/acpterm/internal/proc"
)

type localBackend struct {
	ownCommand
	*proc.Tree
	*capture.Reader
	cgroup string // or empty
}

func (b localBackend) describe(info *TerminalInfo) { info.Cgroup = b.cgroup }

// start compares the files of the program after the Sandbox and the journal, which may take a while.
func (m localMachine) start(
	ctx context.Context, t *Terminal, c Command, allowed *authorized, s settings,
) (_ backend, err error) {
	wrapped := Wrapped{Command: c}
	sandbox := s.commands.Sandbox
	if sandbox != nil {
		panicked := callHook("Sandbox", func() { wrapped, err = sandbox.Wrap(ctx, allowed.proposal) })
		defer func() {
			for _, file := range wrapped.Files {
				file.Close()
			}
		}()
		if err = cmp.Or(panicked, err); err != nil {
			return nil, runnerError(ctx, c, "the Sandbox failed", err)
		}
		wrapped.Command = wrapped.Command.withArgs()
		wrapped.Command.Env = lookup.Mark(lookup.Once(lookup.Key, wrapped.Command.Env), string(t.id))
	}
	if err := t.record(s.manager.Journal, c); err != nil {
		return nil, err
	}
	if same, err := m.verifier.Unchanged(ctx, allowed.contents); err != nil {
		return nil, &Error{Kind: ErrCancelled, Err: err}
	} else if !same {
		return nil, errChanged
	}
	command, err := allowed.pinned.start(wrapped.Command)
	if err != nil {
		return nil, err
	}
	spec, err := t.spec(s, command, wrapped)
	if err != nil {
		return nil, err
	}
	tree, err := t.processes.Start(ctx, spec)
	if err != nil {
		if ctx.Err() != nil {
			return nil, &Error{Kind: ErrCancelled, Err: context.Cause(ctx)}
		}
		return nil, notStartedError(command, err, sandbox != nil)
	}
	begin := capture.Start
	if spec.PTY != nil {
		begin = capture.StartPTY
	}
	output := begin(tree.Output(), t.store, &t.busy)
	return localBackend{Tree: tree, Reader: output, cgroup: t.ownCgroup()}, nil
}

// spec returns the Spec for internal/proc.
func (t *Terminal) spec(s settings, c Command, w Wrapped) (spec proc.Spec, err error) {
	limits, err := cmp.Or(s.commands.Limits, &Limits{}).asked("")
	if err != nil {
		return spec, err
	}
	spec = proc.Spec{
		Mark:   proc.Mark{Name: lookup.TerminalVariable, Value: string(t.id)},
		Cgroup: t.cgroup, Limits: limits, Files: w.Files, Contained: w.PIDNamespace,
		KeepDetached: s.manager.KeepDetached,
	}
	if size := t.store.size(); size != nil {
		spec.PTY = &proc.Size{Columns: uint16(size.Columns), Rows: uint16(size.Rows)}
	}
	return spec, setCommand(&spec, c)
}

// notStartedError returns the error of a failed start. It does not blame the agent for the program of a Sandbox.
func notStartedError(c Command, err error, wrapped bool) error {
	err = startError(c, err)
	if e, ok := err.(*Error); ok && wrapped && (e.Kind == ErrCommandNotFound || e.Kind == ErrNotExecutable) {
		return &Error{Kind: ErrInternal, Reason: "the Sandbox's program cannot be started", Err: e.Err}
	}
	return err
}

// startError returns the error of a failed start. The system's error number does not tell whether the directory or the
// program is to blame, and either may be gone by now, so startError looks at both again.
func startError(c Command, err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e // with a reason of its own
	}
	if limit, ok := errors.AsType[*proc.LimitError](err); ok {
		return &Error{Kind: ErrInternal, Field: "Limits." + limit.Name, Reason: limit.Reason, Err: limit.Err}
	}
	failed := &Error{Kind: ErrInternal, Command: c.Args[0], Reason: "cannot be started", Err: err}
	if !failedToExecute(err) {
		return failed
	}
	if _, err := (localMachine{}).dir(c.Dir); err != nil {
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

// failedToExecute reports whether the system failed to execute the program: an error of syscall.ForkExec, as os/exec
// wraps it, or of syscall.StartProcess.
func failedToExecute(err error) bool {
	if _, ok := err.(syscall.Errno); ok {
		return true
	}
	e, ok := err.(*os.PathError)
	return ok && e.Op == "fork/exec"
}
