package acpterm

// The seam between a Terminal and its command. A machine looks commands up and starts them: localMachine, or
// runnerMachine for Options.Runner. A backend is a started command: localBackend, runnerBackend, or attached. An
// owner runs the command.

import (
	"context"
	"errors"
	"syscall"

	"github.com/acpterm/acpterm/internal/life"
	"github.com/acpterm/acpterm/internal/lookup"
	"github.com/acpterm/acpterm/internal/proc"
)

// machine looks commands up and starts them. Its methods are safe for concurrent use.
type machine interface {
	// remote reports whether paths belong to another machine.
	remote() bool
	// check validates options. level is their name.
	check(level string, o *CommandOptions) error
	// names compares names of variables.
	names() lookup.Names
	// base returns the default directory, which may be empty, and the default environment.
	base(ctx context.Context) (dir string, env []string, err error)
	// dir returns the directory to run in for a requested one, an absolute path or empty.
	dir(path string) (string, error)
	// program finds the program c.Args[0] as a start of c would.
	program(ctx context.Context, c Command) (located, error)
	// shell makes c a shell line. It looks the shell up with the environment that commands inherit.
	shell(ctx context.Context, c Command, s Shell, inherited []string) (located, error)
	// file is program with the symbolic links of the path resolved.
	file(ctx context.Context, c Command) (located, error)
	// realDir resolves the symbolic links of a directory. Its error is an *Error only if the machine fails.
	realDir(ctx context.Context, dir string) (string, error)
	// within reports whether a path is dir or below it. Neither has symbolic links.
	within(path, dir string) bool
	// settle resolves the symbolic links of a proposed command and pins the program and the directory until the start.
	// changed says that a policy has changed the command.
	settle(ctx context.Context, a *authorized, changed bool) error
	// remember reads the files of a program before a question to the user, so that start notices changes.
	remember(ctx context.Context, a *authorized) (unverified []string, err error)
	// start starts the command of a terminal. It returns ErrDenied if the command has changed since the decision.
	start(ctx context.Context, t *Terminal, c Command, allowed *authorized, s settings) (backend, error)
}

type located struct {
	Command
	name string   // of the program, before symbolic links were resolved
	pin  string   // Found.Pin
	env  []string // that commands inherit
}

// backend is the process tree of a terminal and the source of its output. Its methods are safe for concurrent use,
// except that only one call of End, Gone and Rest may run at a time.
type backend interface {
	life.Tree
	// OnExit calls f once, when the command has exited, or with an error when its end cannot be seen.
	OnExit(f func(proc.Exit, error))
	// Rest is Gone for Terminal.Gone. It returns nil if it is certain that no process runs. Otherwise the caller calls
	// await, which returns when it is time to look again, or ctx is done.
	Rest() (await func(ctx context.Context))
	// Drain calls done, which must not block, when the store has all bytes written before the call.
	Drain(done func())
	// Stop drains and ends the output.
	Stop()
	// Close gives up the rest of the tree.
	Close()
	// PID returns the PID of the command, or 0.
	PID() int
	// limits returns the limits in force.
	limits() []EnforcedLimit
	// processes is Terminal.Processes.
	processes(ctx context.Context) ([]proc.Member, error)
}

// owner runs the command of a terminal: managed, or attached. Terminal.mu is held in ended and describe.
type owner interface {
	// kill is Terminal.Kill or, by EndedByUser, Stop.
	kill(ctx context.Context, t *Terminal, by EndedBy) error
	// releasing is called at the beginning of a release.
	releasing()
	// ended returns the cause of the end and the exit status, after the exit.
	ended(by EndedBy, e proc.Exit) (EndedBy, TerminalExitStatus)
	// describe adds facts to a snapshot of a terminal.
	describe(t *Terminal, info *TerminalInfo)
	// outputEnds returns a channel closed when no output need follow, or nil if only the store knows the end.
	outputEnds(t *Terminal) <-chan struct{}
}

// managed is the Manager as the owner of the commands that it runs.
type managed struct{ remote bool }

func (managed) kill(ctx context.Context, t *Terminal, by EndedBy) error {
	e := t.beginKill(by)
	if err := t.await(ctx, &e.done, "kill"); err != nil {
		return err
	}
	return e.err
}

func (managed) releasing() {}

func (managed) ended(by EndedBy, e proc.Exit) (EndedBy, TerminalExitStatus) {
	code, signal := e.Status()
	return by, TerminalExitStatus{ExitCode: code, Signal: signal, Meta: by.meta()}
}

func (o managed) describe(t *Terminal, info *TerminalInfo) {
	info.Remote = o.remote
	if !t.startedAt.IsZero() {
		info.Cgroup = t.ownCgroup()
	}
}

func (managed) outputEnds(*Terminal) <-chan struct{} { return nil }

// noProcess has the methods that all backends without a local process share.
type noProcess struct{}

func (noProcess) PID() int                { return 0 }
func (noProcess) limits() []EnforcedLimit { return nil }
func (noProcess) Drain(done func())       { done() } // the output has been written already

func (noProcess) processes(context.Context) ([]proc.Member, error) { return nil, errors.ErrUnsupported }

type notStarted struct{ noProcess }

func (notStarted) OnExit(func(proc.Exit, error))                      {}
func (notStarted) Gone() bool                                         { return true }
func (notStarted) Rest() func(context.Context)                        { return nil }
func (notStarted) End(context.Context, syscall.Signal) ([]int, error) { return nil, nil }
func (notStarted) Stop()                                              {}
func (notStarted) Close()                                             {}
