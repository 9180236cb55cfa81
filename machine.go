package acpterm

// The seam between a Terminal and what runs behind it. A machine looks commands up and starts them: localMachine, or
// runnerMachine for Options.Runner. A backend is one command that was started: localBackend, runnerBackend, or
// attached.

import (
	"context"
	"syscall"

	"github.com/acpterm/acpterm/internal/life"
	"github.com/acpterm/acpterm/internal/lookup"
	"github.com/acpterm/acpterm/internal/proc"
)

// machine is where commands run. Its methods may be called concurrently.
type machine interface {
	// remote reports whether paths are those of another machine.
	remote() bool
	// check returns why the options, called level, cannot hold there, or nil.
	check(level string, o *CommandOptions) error
	// names says which names of variables are the same.
	names() lookup.Names
	// base returns the default directory, which may be empty, and the default environment.
	base(ctx context.Context) (Base, error)
	// dir returns the directory that a command will run in, for an absolute path or an empty one.
	dir(path string) (string, error)
	// program finds the program of c.Args[0] as a start of c would.
	program(ctx context.Context, c Command) (located, error)
	// shell makes c a shell line. It looks the shell up with the environment that commands inherit.
	shell(ctx context.Context, c Command, s Shell, inherited []string) (located, error)
	// file is program, and follows the symbolic links in the path of the program.
	file(ctx context.Context, c Command) (located, error)
	// realDir resolves the symbolic links of a directory. Its error is an *Error only if the machine fails.
	realDir(ctx context.Context, dir string) (string, error)
	// within reports whether a path without symbolic links is dir or below it.
	within(path, dir string) bool
	// settle resolves the symbolic links of a proposed command and holds on to what they lead to, for start. changed
	// says that a policy has changed the command.
	settle(ctx context.Context, a *authorized, changed bool) error
	// remember reads the files of a program before the user is asked about it, for start to compare with.
	remember(ctx context.Context, a *authorized) (unverified []string, err error)
	// start starts the command of a terminal, unless it is not what was allowed any more.
	start(ctx context.Context, t *Terminal, c Command, allowed *authorized, s settings) (backend, error)
}

// located is a command whose program was looked up.
type located struct {
	Command
	name string   // of the program, before symbolic links were followed
	pin  string   // Found.Pin
	env  []string // that commands inherit
}

// backend is the process tree of a terminal and the source of its output. Its methods may be called concurrently, but
// one goroutine at a time calls End.
type backend interface {
	life.Tree
	// OnExit has f called once, when the command has exited, or with an error when that will not be seen.
	OnExit(f func(proc.Exit, error))
	// Drain calls done, which must not wait, when every byte that was written before the call is in the store.
	Drain(done func())
	// Stop drains, and returns when nothing more comes.
	Stop()
	// Close gives up what is left of the tree.
	Close()

	// PID is 0 if no process of this machine is the command. Unreaped reports whether it is still the command's.
	PID() int
	Unreaped() bool
	Limits() []proc.Limit
	// Write and Resize fail with proc.ErrNoPTY without a PTY.
	Write(p []byte) (int, error)
	Resize(size proc.Size) error

	// kill is Terminal.Kill.
	kill(ctx context.Context, t *Terminal) error
	// lost is why it is not known what is left of the tree; nil if that is known.
	lost() error
	// releasing is called when a release begins.
	releasing()
	// outputEnds is closed when Follow is to end although the output has not been closed; it may be nil.
	outputEnds(t *Terminal) <-chan struct{}
	// ended returns the exit status of a command that has exited, and what ended it. Terminal.mu is held.
	ended(by EndedBy, e proc.Exit) (EndedBy, TerminalExitStatus)
	// describe adds what only this kind of backend knows. Terminal.mu is held.
	describe(info *TerminalInfo)
}

// ownCommand is the part of a backend that is the same for all commands of a Manager.
type ownCommand struct{}

func (ownCommand) kill(ctx context.Context, t *Terminal) error { return t.killTree(ctx) }
func (ownCommand) lost() error                                 { return nil }
func (ownCommand) releasing()                                  {}
func (ownCommand) outputEnds(*Terminal) <-chan struct{}        { return nil }
func (ownCommand) describe(*TerminalInfo)                      {}

func (ownCommand) ended(by EndedBy, e proc.Exit) (EndedBy, TerminalExitStatus) {
	status := TerminalExitStatus{Meta: by.meta()}
	status.ExitCode, status.Signal = e.Status()
	return by, status
}

// noProcess is the part of a backend that is the same where no process of the local machine is the command.
type noProcess struct{}

func (noProcess) PID() int                  { return 0 }
func (noProcess) Unreaped() bool            { return false }
func (noProcess) Limits() []proc.Limit      { return nil }
func (noProcess) Write([]byte) (int, error) { return 0, proc.ErrNoPTY }
func (noProcess) Resize(proc.Size) error    { return proc.ErrNoPTY }
func (noProcess) Drain(done func())         { done() } // the output has been written already

// notStarted is the backend of a command until it has been started.
type notStarted struct {
	ownCommand
	noProcess
}

func (notStarted) OnExit(func(proc.Exit, error))                    {}
func (notStarted) Gone() bool                                       { return true }
func (notStarted) End(context.Context, syscall.Signal) (left []int) { return nil }
func (notStarted) Stop()                                            {}
func (notStarted) Close()                                           {}
