package acpterm

// Commands that run elsewhere. Their terminals keep the promises of this package if the Runner keeps those below.

import (
	"cmp"
	"context"
	"errors"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/acpterm/acpterm/internal/latch"
	"github.com/acpterm/acpterm/internal/life"
	"github.com/acpterm/acpterm/internal/lookup"
	"github.com/acpterm/acpterm/internal/output"
	"github.com/acpterm/acpterm/internal/proc"
)

// A Runner runs commands somewhere other than the local machine. Package acptermtest provides one that runs scripts in
// tests, and package remote provides one that runs real commands on another machine or in a container. TestRunner of
// acptermtest tests a Runner of your own, and its example enters namespaces. The methods must be safe for concurrent
// use and must return soon after ctx is done.
//
// Commands do not inherit anything from the local machine. Their environment consists of the one of Base (or
// CommandOptions.Env, if set), CommandOptions.Unattended and the request's variables, with later values taking
// precedence. The directory defaults as CommandOptions.Dir says, and at last to the one of Base.
//
// If a method returns or wraps an *Error, its kind is preserved, except that ErrInvalidParams with Field "cwd" becomes
// ErrInternal if the request has no cwd, since the agent did not choose the directory. All other errors become
// ErrInternal. Once ctx is done, however, every error becomes ErrCancelled. A Runner that loses its connection should
// return ErrConnectionLost.
type Runner interface {
	// Base returns the absolute path of the default directory, or "" if the Runner chooses one, and the default
	// environment, in the form "NAME=value" with each name once. It is called each time a terminal is created.
	Base(ctx context.Context) (dir string, env []string, err error)

	// RealDir resolves the symbolic links in the absolute path of a directory, for example one of a session's Roots. If
	// the directory does not exist, or the path is a file, it returns ErrInvalidParams with a Reason.
	RealDir(ctx context.Context, dir string) (string, error)

	// LookPath looks up the program c.Args[0] in the same way as starting c would, using the PATH in c.Env and the
	// directory c.Dir. It is called before policies are consulted. For a shell line, the program is
	// CommandOptions.Shell or "sh", and c.Env does not include the request's variables, so the agent cannot choose the
	// shell. If the program cannot be found, LookPath returns an *Error of kind ErrCommandNotFound or ErrNotExecutable.
	// If the directory does not exist, it returns ErrInvalidParams with Field "cwd". A name that resolves differently
	// in each process, such as a link in /proc, should be reported as ErrNotExecutable, because policy/shell calls
	// LookPath on behalf of a shell.
	LookPath(ctx context.Context, c Command) (Found, error)

	// Start starts a command. If ctx is done before Start returns, Start must not leave any processes behind.
	Start(ctx context.Context, r StartRequest) (Process, error)
}

// A PTYRunner is a Runner that can also run commands on a PTY. If Options.Runner is not a PTYRunner, CommandOptions.PTY
// cannot be used.
type PTYRunner interface {
	Runner
	// StartPTY is Start for a command whose standard input, output and error are a PTY of the given size, which is also
	// its controlling terminal. Output receives what the PTY's programs write.
	StartPTY(ctx context.Context, r StartRequest, size TerminalSize) (PTYProcess, error)
}

// A PTYProcess is a Process on a PTY. Unlike those of Process, its Write may block.
type PTYProcess interface {
	Process
	// Write sends keyboard input to the PTY. It blocks while the programs do not read and the PTY's buffer is full, at
	// most until the command exits. After that, it returns os.ErrClosed. Concurrent calls are serialized.
	Write(p []byte) (int, error)
	// Resize changes the size of the PTY, from 1 to 1000 in each direction, and notifies the foreground programs.
	Resize(size TerminalSize) error
}

// A StdinRunner is a Runner that can also feed commands through a pipe. If Options.Runner is not a StdinRunner,
// CommandOptions.Stdin cannot be used.
type StdinRunner interface {
	Runner
	// StartStdin is Start for a command whose standard input is a pipe. It also returns the end to write to. Its Write
	// blocks while the pipe is full, at most until the command exits or Close is called. After that, it returns
	// os.ErrClosed. Its Close does not block. The command then reads end of file after the rest of the input. The
	// methods may be called concurrently. Close is also called when the command has exited.
	StartStdin(ctx context.Context, r StartRequest) (Process, io.WriteCloser, error)
}

// Found is returned by Runner.LookPath.
type Found struct {
	// Path is the absolute path of the executable, with all symbolic links resolved.
	Path string
	// Name is the last element of the path before resolving symbolic links. The default is the last element of Path.
	Name string
	// Dir is the command's directory, with all symbolic links resolved. The default is Command.Dir.
	Dir string
	// Pin optionally identifies the current state of the program and the directory. The Manager does not interpret it,
	// but returns it unchanged in StartRequest.Pin. If the Runner cannot detect replaced files, Pin should be empty.
	Pin string
}

// StartRequest describes a command to be started by Runner.Start.
type StartRequest struct {
	SessionID  SessionID
	TerminalID TerminalID
	// Command is the command to start, as allowed by the policies. Its Env includes the variable ACPTERM_TERMINAL,
	// which identifies the processes of the tree and whose value ends with the terminal's id.
	Command Command
	// Pin is the value that Found.Pin had when the decision was made. If the program or the directory has changed since
	// then, Start should return ErrDenied.
	Pin string
	// Limits restricts the command's resources. If any of the limits cannot be enforced, Start must fail.
	Limits Limits
	// Roots is Proposal.Roots, the directories that a Runner with a sandbox makes writable.
	Roots []string
	// Output receives the standard output and standard error of all processes in the tree. It is safe for concurrent
	// use, and writes do not block. The Runner must close Output as soon as no process can write to it any longer,
	// which may be long after the command has exited. After the terminal has been released, writes return os.ErrClosed.
	Output io.WriteCloser
}

// A Process represents a running command and its tree. It must be safe for concurrent use, and only Wait may block.
//
// A Process can also have the method Processes(context.Context) ([]ProcessInfo, error). It returns what
// Terminal.Processes does, and is needed for that, for Terminal.Watch and for CommandOptions.IdleTimeout. It may block,
// but must return soon after ctx is done or Gone is closed. If a process waits for input, all output before that must
// have been written to StartRequest.Output.
type Process interface {
	// Wait waits for the command to exit and for its own output to be written to StartRequest.Output, and then returns
	// the exit status. It is called only once, and does not wait for other processes in the tree. If the status
	// contains neither an exit code nor a signal, Terminal.Wait returns ErrExitLost. If Wait returns an error of kind
	// ErrExitLost or ErrConnectionLost, so does Terminal.Wait. Any other error becomes ErrInternal.
	Wait() (TerminalExitStatus, error)
	// Signal sends a signal to the entire tree. SIGKILL must terminate all processes in the tree.
	Signal(sig syscall.Signal)
	// Gone returns a channel that's closed when the tree is gone or its state becomes unknown. Wait must then return.
	Gone() <-chan struct{}
	// Err returns nil if the tree is gone. Otherwise, once Gone is closed, it returns the reason the tree's state is
	// unknown, such as an error of kind ErrConnectionLost. Terminal.Kill and Manager.Release return the same error.
	Err() error
	// Limits returns the limits being enforced, which must not change.
	Limits() []EnforcedLimit
	// PID returns the command's PID on the machine that runs it, or 0 if unknown. It is used in events and errors.
	PID() int
	// Close is called after the terminal has been released, to abandon any remaining processes. Unless this has already
	// happened, Close causes Wait to return and closes Gone.
	Close()
}

type runnerMachine struct{ runner Runner }

func (runnerMachine) remote() bool                 { return true }
func (runnerMachine) within(path, dir string) bool { return lookup.WithinAnywhere(path, dir) }

// names distinguishes capitals: the Runner's system may do so even if the local one does not.
func (runnerMachine) names() lookup.Names { return lookup.Exact }

func (m runnerMachine) check(level string, o *CommandOptions) error {
	_, hasPTYs := m.runner.(PTYRunner)
	_, hasPipes := m.runner.(StdinRunner)
	switch {
	case o.Sandbox != nil:
		return unsupportedOption(level+".Sandbox", "cannot be used with Options.Runner")
	case o.PTY != nil && !hasPTYs:
		return unsupportedOption(level+".PTY", "cannot be used with an Options.Runner that is not a PTYRunner")
	case o.Stdin != nil && !hasPipes:
		return unsupportedOption(level+".Stdin", "cannot be used with an Options.Runner that is not a StdinRunner")
	case o.Shell != nil:
		program := o.Shell.Program
		return o.Shell.validate(level+".Shell", strings.Contains(program, "/"), lookup.IsAbsAnywhere(program))
	}
	return nil
}

func unsupportedOption(field, reason string) error {
	e := optionError(field, reason)
	e.Err = errors.ErrUnsupported
	return e
}

func (m runnerMachine) base(ctx context.Context) (dir string, env []string, err error) {
	panicked := callHook("Runner's Base", func() { dir, env, err = m.runner.Base(ctx) })
	if err = cmp.Or(panicked, err); err != nil {
		return "", nil, runnerError(ctx, Command{}, "the Runner cannot be reached", err)
	}
	return dir, lookup.Once(lookup.Exact, env), nil
}

// dir leaves ".." in a path: after a symbolic link it is the parent of the target. program checks the directory.
func (runnerMachine) dir(dir string) (string, error) {
	switch {
	case dir == "" || path.IsAbs(dir):
		return dir, nil
	case filepath.IsAbs(dir):
		return filepath.Clean(dir), nil
	}
	return "", invalidField("cwd", "must be an absolute path")
}

func (m runnerMachine) program(ctx context.Context, c Command) (located, error) {
	return m.lookPath(ctx, c, c.Env)
}

// file is program, because a Runner resolves links.
func (m runnerMachine) file(ctx context.Context, c Command) (located, error) {
	return m.program(ctx, c)
}

// lookPath looks up a program with the PATH of env.
func (m runnerMachine) lookPath(ctx context.Context, c Command, env []string) (_ located, err error) {
	asked := c
	asked.Env = env
	var found Found
	panicked := callHook("Runner's LookPath", func() { found, err = m.runner.LookPath(ctx, asked) })
	if err = cmp.Or(panicked, err); err != nil || found.Path == "" {
		return located{}, runnerError(ctx, c, "cannot be looked up", err)
	}
	c.Path = found.Path
	if found.Dir != "" && found.Dir != c.Dir {
		if lookup.Getenv(c.Env, "PWD") == c.Dir {
			c.Env = mergeEnv(lookup.Exact, c.Env, found.Dir, nil, nil)
		}
		c.Dir = found.Dir
	}
	return located{Command: c, name: cmp.Or(found.Name, path.Base(found.Path)), pin: found.Pin}, nil
}

func (m runnerMachine) shell(ctx context.Context, c Command, s Shell, inherited []string) (located, error) {
	if s.Program == "" {
		s = Shell{Program: "sh", Args: []string{"-c"}}
	}
	c.Args = slices.Concat([]string{s.Program}, s.Args, []string{c.ShellLine})
	found, err := m.lookPath(ctx, c, lookup.AbsolutePath(inherited))
	if errors.Is(err, ErrCommandNotFound) || errors.Is(err, ErrNotExecutable) {
		return located{}, s.cannotRun(err)
	}
	return found, err
}

func (m runnerMachine) realDir(ctx context.Context, dir string) (resolved string, err error) {
	if !lookup.IsAbsAnywhere(dir) {
		return "", errors.New("must be an absolute path")
	}
	panicked := callHook("Runner's RealDir", func() { resolved, err = m.runner.RealDir(ctx, dir) })
	if err = cmp.Or(panicked, err); err != nil || resolved == "" {
		e := runnerError(ctx, Command{}, "the Runner cannot resolve a directory", err)
		if e.Kind == ErrInvalidParams {
			return "", errors.New(e.Reason)
		}
		return "", e
	}
	return resolved, nil
}

// settle looks up a changed command again. LookPath has resolved the links of any other.
func (m runnerMachine) settle(ctx context.Context, a *authorized, changed bool) error {
	if !changed {
		return nil
	}
	c := a.proposal.Command
	looked := c
	looked.Args, looked.ShellLine = []string{c.Path}, ""
	found, err := m.program(ctx, looked)
	if err != nil {
		return err
	}
	c.Path, c.Dir, c.Env = found.Path, found.Dir, found.Env
	a.proposal.Command, a.proposal.Name, a.pin = c, found.name, found.pin
	return nil
}

// remember does nothing: the Runner compares the files with the Pin.
func (runnerMachine) remember(context.Context, *authorized) (unverified []string, err error) {
	return nil, nil
}

func (m runnerMachine) start(
	ctx context.Context, t *Terminal, c Command, allowed *authorized, s settings,
) (_ backend, err error) {
	b := &runnerBackend{output: output.NewWriter(t.store)}
	request := StartRequest{
		SessionID: t.SessionID(), TerminalID: t.id, Command: c, Pin: allowed.pin,
		Limits: *cmp.Or(s.commands.Limits, &Limits{}), Output: b.output,
		Roots: slices.Clone(allowed.proposal.Roots),
	}
	var pty PTYProcess
	var pipe io.WriteCloser
	panicked := callHook("Runner's Start", func() {
		if s.commands.Stdin != nil {
			b.process, pipe, err = m.runner.(StdinRunner).StartStdin(ctx, request)
		} else if s.commands.PTY == nil {
			b.process, err = m.runner.Start(ctx, request)
		} else if pty, err = m.runner.(PTYRunner).StartPTY(ctx, request, s.commands.PTY.size()); pty != nil {
			b.process = pty
		}
	})
	if err = cmp.Or(panicked, err); err != nil || b.process == nil {
		return nil, runnerError(ctx, c, "cannot be started", err)
	}
	go func() { b.SetExit(b.awaitExit()) }() // Close does not wait for it
	if s.commands.IdleTimeout > 0 {
		if list, err := b.processes(ctx); list == nil && errors.Is(err, errors.ErrUnsupported) {
			life.End(b, nil) // with SIGKILL immediately
			b.Stop()
			b.Close()
			return nil, unsupportedOption("CommandOptions.IdleTimeout", "the Runner does not list processes")
		}
	}
	if pipe != nil {
		b.stdin = t.feed(pipe, s.commands.Stdin.Reader, b.OnExit)
	}
	if pty != nil {
		return runnerPTY{b, pty}, nil
	}
	return b, nil
}

// runnerError converts an error of a Runner or a Sandbox to an *Error. reason is for other types of errors. A nil err
// means that the Runner returned nothing.
func runnerError(ctx context.Context, c Command, reason string, err error) *Error {
	if ctx.Err() != nil {
		return &Error{Kind: ErrCancelled, Err: context.Cause(ctx)}
	}
	e, ok := errors.AsType[*Error](err)
	switch {
	case ok && e == nil:
		err = nil
	case ok && err == error(e):
		return e
	case ok:
		wrapped := *e
		wrapped.Err = err
		return &wrapped
	}
	e = &Error{Kind: ErrInternal, Reason: reason, Err: err}
	if len(c.Args) > 0 {
		e.Command = c.Args[0]
	}
	return e
}

type runnerBackend struct {
	noProcess
	proc.ExitStatus
	process Process
	output  *output.Writer
	stdin   io.WriteCloser // for Terminal.Write, or nil
}

func (b *runnerBackend) awaitExit() (_ proc.Exit, err error) {
	var status TerminalExitStatus
	panicked := callHook("Process's Wait", func() { status, err = b.process.Wait() })
	switch err = cmp.Or(panicked, err); {
	case err != nil:
		return proc.Exit{}, err
	case status.Signal != nil:
		return proc.Exit{Signal: *status.Signal}, nil
	case status.ExitCode != nil:
		return proc.Exit{Code: *status.ExitCode}, nil
	}
	return proc.Exit{}, &Error{Kind: ErrExitLost, Reason: "the Runner does not know the exit status"}
}

func (b *runnerBackend) Gone() bool {
	return latch.IsClosed(b.process.Gone()) && b.process.Err() == nil
}

func (b *runnerBackend) Rest() func(context.Context) {
	if b.Gone() {
		return nil
	}
	gone := b.process.Gone()
	if latch.IsClosed(gone) { // its state is unknown, and stays so
		gone = nil
	}
	return func(ctx context.Context) {
		select {
		case <-gone:
		case <-ctx.Done():
		}
	}
}

// lostTree is the doubt about a tree whose state is not known any more.
type lostTree struct{ error }

func (b *runnerBackend) End(ctx context.Context, sig syscall.Signal) (left []int, doubt error) {
	if !latch.IsClosed(b.process.Gone()) {
		callHook("Process's Signal", func() { b.process.Signal(sig) })
	}
	select {
	case <-b.process.Gone():
	case <-ctx.Done():
	}
	if latch.IsClosed(b.process.Gone()) {
		if err := b.process.Err(); err != nil {
			return nil, lostTree{err}
		}
		return nil, nil
	}
	if pid := b.process.PID(); pid != 0 && !b.HasExited() { // after the exit, it may be another process's
		return []int{pid}, nil
	}
	return nil, errors.New("processes of the tree may be running")
}

func (b *runnerBackend) processes(ctx context.Context) (list []proc.Member, err error) {
	lister, ok := b.process.(interface {
		Processes(context.Context) ([]ProcessInfo, error)
	})
	if !ok {
		return nil, errors.ErrUnsupported
	}
	panicked := callHook("Process's Processes", func() { list, err = lister.Processes(ctx) })
	return list, cmp.Or(panicked, err)
}

func (b *runnerBackend) limits() []EnforcedLimit { return slices.Clone(b.process.Limits()) }

func (b *runnerBackend) PID() int { return b.process.PID() }
func (b *runnerBackend) Close()   { b.SetExit(proc.Exit{}, errUnseen) }

// Stop is called once, by the release.
func (b *runnerBackend) Stop() {
	b.output.Close()
	callHook("Process's Close", b.process.Close)
}

// runnerPTY is a process with a PTY. It implements proc.Console.
type runnerPTY struct {
	*runnerBackend
	pty PTYProcess
}

func (b runnerPTY) Write(p []byte) (n int, err error) { return b.pty.Write(p) }

func (b runnerPTY) Resize(size proc.Size) (err error) {
	to := TerminalSize{Columns: int(size.Columns), Rows: int(size.Rows)}
	panicked := callHook("PTYProcess's Resize", func() { err = b.pty.Resize(to) })
	return cmp.Or(panicked, err)
}

// errUnseen is the error of a command whose end was not seen before a release gave it up.
var errUnseen = errors.New("the end of the command was not seen before its tree was closed")
