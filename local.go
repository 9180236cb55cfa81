package acpterm

// The local machine: it looks up programs and directories, pins them from the decision until the start, and starts the
// command. procgroup_unix.go and procgroup_windows.go have the differences between systems; internal/proc starts, finds
// and ends the process tree.

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/acpterm/acpterm/internal/capture"
	"github.com/acpterm/acpterm/internal/lookup"
	"github.com/acpterm/acpterm/internal/pin"
	"github.com/acpterm/acpterm/internal/proc"
)

// localMachine is the local machine. The zero value can look commands up but not start them.
type localMachine struct{ verifier *pin.Verifier }

func (localMachine) remote() bool                 { return false }
func (localMachine) names() lookup.Names          { return lookup.Key }
func (localMachine) within(path, dir string) bool { return lookup.Within(path, dir) }

func (localMachine) base(context.Context) (dir string, env []string, err error) {
	return "", lookup.HostEnviron(), nil
}

func (localMachine) realDir(_ context.Context, dir string) (string, error) {
	return lookup.RealDir(dir)
}

func (localMachine) check(level string, o *CommandOptions) error {
	if o.Dir != "" && !filepath.IsAbs(o.Dir) {
		return optionError(level+".Dir", "must be an absolute path")
	}
	if o.IdleTimeout > 0 && !proc.ListsMembers {
		return optionError(level+".IdleTimeout", "is not supported on this system")
	}
	if o.Shell == nil {
		return nil
	}
	program := o.Shell.Program
	if err := o.Shell.validate(level+".Shell", lookup.NamesPath(program), filepath.IsAbs(program)); err != nil {
		return err
	}
	if reason := lookup.RefusedShell(program, o.Shell.Args); reason != "" {
		return optionError(level+".Shell", reason)
	}
	return nil
}

// dir returns the host's directory for an empty path.
func (localMachine) dir(path string) (string, error) {
	if path == "" {
		host, err := lookup.HostDir()
		if err != nil {
			return "", &Error{Kind: ErrInternal, Reason: "the host has no working directory", Err: err}
		}
		return host, nil
	}
	if !filepath.IsAbs(path) {
		return "", invalidField("cwd", "must be an absolute path")
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", fieldError("cwd", err)
	case !info.IsDir():
		return "", invalidField("cwd", "not a directory")
	}
	if err := lookup.MayEnter(path); err != nil {
		return "", fieldError("cwd", err)
	}
	return path, nil
}

func (localMachine) program(_ context.Context, c Command) (located, error) {
	var err error
	c.Path, err = lookup.Program(c.Args[0], c.Dir, c.Env)
	switch {
	case err == nil:
		return located{Command: c, name: filepath.Base(c.Path)}, nil
	case errors.Is(err, fs.ErrNotExist):
		return located{}, &Error{Kind: ErrCommandNotFound, Command: c.Args[0]}
	}
	return located{}, &Error{Kind: ErrNotExecutable, Command: c.Args[0], Field: "command",
		Reason: "cannot be executed: " + lookup.Reason(err)}
}

func (m localMachine) file(ctx context.Context, c Command) (located, error) {
	found, err := m.program(ctx, c)
	if err != nil {
		return found, err
	}
	if found.Path, err = filepath.EvalSymlinks(found.Path); err != nil {
		return located{}, &Error{Kind: ErrCommandNotFound, Command: c.Args[0], Err: err}
	}
	return found, nil
}

func (localMachine) shell(_ context.Context, c Command, s Shell, inherited []string) (located, error) {
	var err error
	if s.Program == "" {
		c.Path, c.Args, err = lookup.Shell(c.ShellLine)
	} else {
		c.Args = slices.Concat([]string{s.Program}, s.Args, []string{c.ShellLine})
		if c.Path, err = lookup.Interpreter(s.Program, inherited); err != nil {
			return located{}, s.cannotRun(err)
		}
		err = lookup.CheckLine(c.Path, c.Args)
	}
	if err != nil {
		return located{}, lookupError(err)
	}
	return located{Command: c, name: filepath.Base(c.Path)}, nil
}

// lookupError converts an error of lookup.Shell or lookup.CommandLine.
func lookupError(err error) error {
	if e, ok := errors.AsType[*lookup.FieldError](err); ok {
		return invalidField(e.Field, e.Reason)
	}
	return &Error{Kind: ErrInternal, Reason: "the system's shell cannot be found", Err: err}
}

func (localMachine) settle(_ context.Context, a *authorized, _ bool) error {
	a.pinned.Close()
	a.pinned = nil
	c := &a.proposal.Command
	path, err := filepath.EvalSymlinks(c.Path)
	if err != nil {
		return &Error{Kind: ErrCommandNotFound, Command: a.proposal.Requested.Command, Err: err}
	}
	dir, err := filepath.EvalSymlinks(c.Dir)
	if err != nil {
		return fieldError("cwd", err)
	}
	setsPWD := slices.ContainsFunc(a.proposal.Requested.Env, func(v EnvVariable) bool { return v.Name == "PWD" })
	if !setsPWD && lookup.Getenv(c.Env, "PWD") == c.Dir {
		c.Env = lookup.Merge(lookup.Key, lookup.Once(lookup.Key, c.Env), dir, nil) // a policy may have set it
	}
	c.Path, c.Dir = path, dir
	program, err := pin.Stat(path)
	if err != nil {
		return fieldError("command", err)
	}
	if a.pinned, err = pin.Open(program, dir); err != nil {
		return fieldError("cwd", err)
	}
	return nil
}

func (m localMachine) remember(ctx context.Context, a *authorized) (unverified []string, err error) {
	c := a.proposal.Command
	if a.contents, unverified, err = m.verifier.Read(ctx, c.Path, c.Dir); err != nil {
		return nil, &Error{Kind: ErrCancelled, Err: err}
	}
	return unverified, nil
}

// errChanged denies a command whose files have changed since the decision.
var errChanged error = &Error{Kind: ErrDenied, Rule: "unchanged",
	Reason: "the program or the directory was replaced or changed after the decision"}

type localBackend struct {
	*proc.Tree
	*capture.Reader
	stdin io.WriteCloser // for Terminal.Write, or nil
}

func (b localBackend) processes(context.Context) ([]proc.Member, error) { return b.Members() }

func (b localBackend) limits() (limits []EnforcedLimit) {
	for _, l := range b.Limits() {
		value := int64(min(l.Value, math.MaxInt64))
		limits = append(limits, EnforcedLimit{Name: l.Name, Value: value, By: l.By, Tree: l.Tree})
	}
	return limits
}

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
	if err := t.beginEntry(s.options.Journal, c); err != nil {
		return nil, err
	}
	if same, err := m.verifier.Unchanged(ctx, allowed.contents); err != nil {
		return nil, &Error{Kind: ErrCancelled, Err: err}
	} else if !same || !allowed.pinned.Unchanged() {
		return nil, errChanged
	}
	command := wrapped.Command
	command.Dir = allowed.pinned.Path(command.Dir)
	spec, err := t.spec(s, command, wrapped)
	if err != nil {
		return nil, err
	}
	input, err := s.commands.Stdin.open()
	if err != nil {
		return nil, err
	}
	spec.Stdin = input.file
	tree, err := t.processes.Start(ctx, spec)
	if err != nil {
		input.cancel()
		if ctx.Err() != nil {
			return nil, &Error{Kind: ErrCancelled, Err: context.Cause(ctx)}
		}
		return nil, notStartedError(command, err, sandbox != nil)
	}
	begin := capture.Start
	if spec.PTY != nil {
		begin = capture.StartPTY
	}
	stdin := input.begin(t, tree)
	return localBackend{tree, begin(tree.Output(), t.store, &t.busy), stdin}, nil
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
		KeepDetached: s.options.KeepDetached,
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
	if !lookup.FailedToExecute(err) {
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
