package signin

// Running a method: another instance of the agent's program, in a terminal of a Manager.

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os/exec"
	"runtime"

	"github.com/acpterm/acpterm"
)

// Options holds the options of Run. A nil *Options is equivalent to the zero value, which is ready to use.
type Options struct {
	// Manager, if non-nil, runs the program, which then appears in the manager's views and is subject to its policies,
	// sandbox, limits and records. By default, Run uses a manager of its own without any of these. Except on Windows,
	// it leaves deliberately detached processes running, such as a browser (see acpterm.Options.KeepDetached).
	Manager *acpterm.Manager

	// Session is the program's session in the manager. It must not be open yet, because Run opens it with the agent's
	// environment and directory, and closes it when done. Never use one of the agent's sessions, or the agent could
	// read the terminal. If empty, a random session is used.
	Session acpterm.SessionID

	// PTY specifies the terminal's size and TERM. The program is always treated as attended.
	PTY acpterm.PTYOptions

	// Started, if non-nil, is called with the program's terminal once the program is running. It is useful, for
	// example, for resizing the terminal along with the user's by Terminal.Resize. Run waits for it to return.
	Started func(*acpterm.Terminal)

	// AllowVariables lists the variables that a method may set in addition to policy.SafeVariables, in the form of
	// policy.AllowVariables. If a method sets any others, Run fails without running anything. Otherwise, an agent
	// could, for example, use LD_PRELOAD to load a library into the first program of the host's command line, which may
	// be the very program that confines the agent. "*" allows all variables.
	AllowVariables []string

	// AllowLegacyCommand permits methods with a LegacyCommand, which may run any program the agent chooses. Unless it
	// is set, Run fails for such methods without running anything.
	AllowLegacyCommand bool
}

// An Error is returned by Run if the user was not signed in. errors.Is and errors.As also find Err.
type Error struct {
	// Method is the method's ID.
	Method string
	// Status is the program's exit status. It is nil if the program did not run or its exit was not observed.
	Status *acpterm.TerminalExitStatus
	// Err explains why the program did not run, was terminated, or left processes that could not be killed, in which
	// case Status may be exit code 0. It is nil if the program exited on its own with some other status.
	Err error
}

// Error implements the error interface. The message includes the method and either the reason or the status.
func (e *Error) Error() string {
	reason := "how it ended is not known"
	switch {
	case e.Err != nil:
		reason = e.Err.Error()
	case e.Status != nil:
		reason = e.Status.String()
	}
	return fmt.Sprintf("sign in by %.80q: %s", e.Method, reason)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Run signs in with a method. It runs the agent's program on a PTY in the agent's directory, with the agent's arguments
// followed by the method's, and the agent's environment overridden by the method's. It returns nil only if the program
// exits with code 0. The agent must then be started again, as the protocol requires.
//
// agent is an exec.Cmd like the one used to start the agent, but not the one passed to agentproc.Start, which has
// modified it. Run reads only Path, Args, Env and Dir, and ignores Args[0], even if it differs from Path.
//
// Until it returns, Run copies the program's output to term byte for byte, and input from term to the program. term
// should be the user's terminal in raw mode. If Read returns io.EOF, Run sends "\x04" to end the program's input. Any
// other error of term terminates the program. A pending Write is waited for, but a Read is still pending when Run
// returns, and any bytes it reads are lost, so it should be possible to interrupt term's Read. If Options.Manager is
// set, term may be nil, and the user answers through a view or through Terminal.Write.
//
// Cancelling ctx terminates the program in the steps of the manager's Escalation. No other timeout applies. When Run
// returns, the program's processes are gone, except for detached ones (see Options.Manager) and those in the error.
//
// Errors are of type *Error. Their Err is an *acpterm.Error or the error of a Read or Write of term. The kind is
// ErrInvalidParams if the agent, method or session cannot be used; ErrDenied if refused by the manager's policies,
// because of a LegacyCommand, or because of RefusedVariables, which are named; ErrCommandNotFound; ErrNotExecutable;
// ErrCancelled if ctx was done first; ErrSurvivors; or another kind returned by Manager.Create, such as with
// errors.ErrUnsupported where commands cannot have a PTY. Errors never contain the values of variables or typed input.
//
// Run may be called concurrently, as long as each call has its own term.
func Run(ctx context.Context, agent *exec.Cmd, method Method, term io.ReadWriter, options *Options) error {
	status, err := run(ctx, agent, method, term, cmp.Or(options, &Options{}))
	if err == nil && status != nil && status.Success() {
		return nil
	}
	return &Error{Method: method.ID, Status: status, Err: err}
}

// run is Run, but also returns the program's status, if known.
func run(
	ctx context.Context, agent *exec.Cmd, method Method, term io.ReadWriter, o *Options,
) (status *acpterm.TerminalExitStatus, err error) {
	if term == nil && o.Manager == nil {
		return nil, invalidField("term", "may be nil only with Options.Manager")
	}
	l, err := newLaunch(agent, method, o)
	if err != nil {
		return nil, err
	}
	p, err := newPlace(l, o)
	if err != nil {
		return nil, err
	}
	var t *acpterm.Terminal
	defer func() { // also when a hook panics
		if endErr := p.end(); err == nil {
			err = endErr
		}
		if t != nil {
			status = t.ExitStatus()
		}
	}()
	pty := o.PTY
	pty.Attended = true
	t, err = p.manager.Create(ctx, l.request, &acpterm.CommandOptions{
		PTY: &pty, Timeout: acpterm.NoTimeout, ShellLines: acpterm.ShellNever,
	})
	if err != nil {
		return nil, err
	}
	if o.Started != nil {
		o.Started(t)
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	if term != nil {
		p.shown = join(t, term, fail)
	}
	if _, err = t.Wait(ctx); err != nil {
		if broken, ok := context.Cause(ctx).(*brokenError); ok {
			err = broken
		}
	}
	return nil, err
}

// place is where a program runs: a session of a manager.
type place struct {
	manager *acpterm.Manager
	own     bool // Run created the manager
	session acpterm.SessionID
	shown   <-chan struct{} // closed when the user's terminal has all output, or nil without a terminal
}

// newPlace opens a session for a program.
func newPlace(l *launch, o *Options) (*place, error) {
	p := &place{manager: o.Manager, session: cmp.Or(o.Session, acpterm.SessionID("sign-in-"+rand.Text()))}
	if p.manager == nil {
		m, err := acpterm.NewManager(&acpterm.Options{KeepDetached: runtime.GOOS != "windows"})
		if err != nil {
			return nil, err
		}
		p.manager, p.own = m, true
	}
	if err := p.manager.OpenSession(p.session, &acpterm.SessionOptions{
		Commands: acpterm.CommandOptions{Dir: l.dir, Env: l.env},
	}); err != nil {
		if p.own {
			p.manager.Close()
		}
		return nil, err
	}
	l.request.SessionID = p.session
	return p, nil
}

// end ends the program's remaining processes, and waits until the user's terminal has all output.
func (p *place) end() error {
	var err error
	if p.own {
		err = p.manager.Shutdown(context.Background())
	} else {
		err = p.manager.CloseSession(context.Background(), p.session)
	}
	if p.shown != nil {
		<-p.shown
	}
	return err
}
