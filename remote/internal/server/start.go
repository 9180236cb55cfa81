package server

// Starting a process.

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/acpterm/acpterm/internal/life"
	"github.com/acpterm/acpterm/internal/lookup"
	"github.com/acpterm/acpterm/internal/pin"
	"github.com/acpterm/acpterm/internal/proc"
	"github.com/acpterm/acpterm/remote/internal/frame"
)

// start starts the process, if it matches the pin of the request. If it fails, it leaves nothing behind.
func (p *process) start(r *frame.Start) (*frame.Started, error) {
	spec, err := newSpec(r)
	if err != nil {
		return nil, err
	}
	dir, err := p.server.workingDir(&r.Command)
	if err != nil {
		return nil, err
	}
	if spec.Dir = dir; r.Pin != "" {
		held, err := holdPinned(r.Pin, spec.Path, dir)
		if err != nil {
			return nil, err
		}
		defer held.Close()
		spec.Dir = held.Path()
	} else if err := checkDir(dir); err != nil {
		return nil, err
	}
	if r.Sandbox != nil {
		if err := p.server.confine(r, &spec, dir); err != nil {
			return nil, err
		}
		defer closeFiles(spec.Files)
	}
	begun, err := p.openInput(r, &spec)
	if err != nil {
		return nil, err
	}
	tree, err := p.server.supervisor.Start(p.startCtx, spec)
	isCancelled := p.startCtx.Err() != nil
	begun(err == nil && !isCancelled)
	switch {
	case isCancelled:
		if err == nil {
			discard(tree)
		}
		return nil, &failure{kind: cancelled, err: context.Cause(p.startCtx)}
	case err != nil && r.Sandbox != nil:
		return nil, &failure{kind: internal, reason: "the sandbox's program cannot be started", err: err}
	case err != nil:
		return nil, startError(&spec, dir, err)
	}
	p.tree = tree
	p.started.Set()
	started := &frame.Started{PID: tree.PID()}
	for _, l := range tree.Limits() {
		started.Limits = append(started.Limits, frame.Limit{Name: l.Name, Value: l.Value, By: l.By, Tree: l.Tree})
	}
	return started, nil
}

// discard ends an unneeded tree.
func discard(t *proc.Tree) {
	life.End(t, nil) // with SIGKILL immediately
	t.Close()
	t.Output().Close()
}

// newSpec returns the Spec of a request for a Supervisor, without the directory.
func newSpec(r *frame.Start) (proc.Spec, error) {
	if err := checkTexts(&r.Command); err != nil {
		return proc.Spec{}, err
	}
	path := string(r.Command.Path)
	if !filepath.IsAbs(path) {
		return proc.Spec{}, invalidField("command", "must be looked up first: its path is not absolute")
	}
	spec := proc.Spec{
		Args: frame.Strings(r.Command.Args), Env: frame.Strings(r.Command.Env),
		Mark: proc.Mark{Name: r.MarkName, Value: r.MarkValue},
	}
	if !isMarked(spec.Env, spec.Mark) {
		return proc.Spec{}, &failure{kind: internal, reason: "the command's environment lacks its mark"}
	}
	var err error
	if spec.Limits, err = limits(r.Limits); err != nil {
		return proc.Spec{}, err
	}
	if spec.PTY, err = ptySize(r.PTY); err != nil {
		return proc.Spec{}, err
	}
	return spec, setCommand(&spec, path, string(r.Command.Shell))
}

// isMarked reports whether an environment has the mark that identifies the processes of the tree. With another mark,
// unrelated processes could match.
func isMarked(env []string, mark proc.Mark) bool {
	return mark.Name != "" && mark.Value != "" &&
		slices.Contains(strings.Split(lookup.Getenv(env, mark.Name), ":"), mark.Value)
}

// limits checks and converts the limits of a request.
func limits(asked []frame.Limit) (limits []proc.Limit, err error) {
	for _, l := range asked {
		most := uint64(math.MaxInt64)
		switch l.Name {
		case "CPUTime", "Memory", "Processes", "OpenFiles", "FileSize":
		case "Nice":
			most = 19
		default:
			return nil, limitError(l.Name, "is not known to the remote helper", nil)
		}
		if l.Value == 0 || l.Value > most {
			return nil, limitError(l.Name, "is out of range", nil)
		}
		limits = append(limits, proc.Limit{Name: l.Name, Value: l.Value})
	}
	return limits, nil
}

// holdPinned returns the directory of a pin. It fails if the program or the directory was replaced or changed.
func holdPinned(text, program, dir string) (*pin.Dir, error) {
	for _, path := range []string{program, dir} {
		if resolved, err := filepath.EvalSymlinks(path); err != nil || resolved != path || !filepath.IsAbs(path) {
			return nil, errChanged()
		}
	}
	held, err := pin.OpenDir(dir)
	if err != nil {
		return nil, errChanged()
	}
	if now, err := newPin(program, held.Path()); err != nil || now != text {
		held.Close()
		return nil, errChanged()
	}
	return held, nil
}

// startError returns the error for a command that did not start. The system's error number does not tell the directory
// from the program, and either may be gone by now, so startError checks both again.
func startError(spec *proc.Spec, dir string, err error) error {
	if limit, ok := errors.AsType[*proc.LimitError](err); ok {
		return limitError(limit.Name, limit.Reason, limit.Err)
	}
	failed := &failure{kind: internal, reason: "cannot be started", err: err}
	if !failedToExecute(err) {
		return failed
	}
	if err := checkDir(dir); err != nil {
		return err
	}
	_, missing := lookup.Executable(spec.Path, spec.Env)
	switch {
	case errors.Is(missing, fs.ErrNotExist):
		return &failure{kind: commandNotFound, err: missing}
	case errors.Is(err, fs.ErrNotExist):
		failed.kind, failed.field, failed.reason = notExecutable, "command", "its interpreter cannot be found"
	case missing != nil || errors.Is(err, fs.ErrPermission) || isExecFormat(err):
		failed.kind, failed.field = notExecutable, "command"
	}
	return failed
}

// failedToExecute reports whether an error is about the start of the program itself.
func failedToExecute(err error) bool {
	if _, ok := err.(syscall.Errno); ok {
		return true
	}
	e, ok := err.(*os.PathError)
	return ok && e.Op == "fork/exec"
}
