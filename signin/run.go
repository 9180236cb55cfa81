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

// Options specifies optional settings for Run. The zero value is ready to use and equivalent to a nil *Options.
type Options struct {
	// Manager, if non-nil, runs the program, which then appears in the manager's views and is subject to its policies,
	// sandbox, limits and records. If nil, Run uses its own manager without any of these. Except on Windows, that
	// manager leaves deliberately detached processes running, such as a browser (see acpterm.Options.KeepDetached).
	Manager *acpterm.Manager

	// Session is the manager's session for the program. If empty, a random one is used. Run opens the session using the
	// agent's environment and directory and closes it when done, so it must not already be open. In particular, do not
	// use one of the agent's own sessions, since the agent could then read the terminal.
	Session acpterm.SessionID

	// PTY specifies the size and TERM of the terminal. Attended need not be set, because it is always assumed.
	PTY acpterm.PTYOptions

	// Started, if non-nil, is called with the terminal as soon as the program is running. For example, it can arrange
	// for Terminal.Resize to be called whenever the user's terminal is resized. Run waits until Started returns.
	Started func(*acpterm.Terminal)

	// AllowVariables lists variables a method may set in addition to policy.SafeVariables, as described in
	// policy.AllowVariables, or "*" to allow all variables. If a method sets any other, Run fails without running
	// anything. This is important because an agent could, for example, set LD_PRELOAD to load a library into the first
	// program of the host's command line, which may be the very program used to confine the agent.
	AllowVariables []string

	// AllowLegacyCommand permits methods with a LegacyCommand, which may be any program chosen by the agent. By
	// default, Run fails for these methods without running anything.
	AllowLegacyCommand bool
}

// An Error is returned by Run if the user was not signed in. Use errors.Is and errors.As to examine Err.
type Error struct {
	// Method is the method's ID.
	Method string
	// Status is the exit status of the program, or nil if the program did not run or its status is unknown.
	Status *acpterm.TerminalExitStatus
	// Err is the reason the program did not run, was terminated, or left processes that could not be killed. In the
	// last case, Status may be exit code 0. If Err is nil, the program exited on its own, but not with exit code 0.
	Err error
}

// Error returns a message with the method and either the reason or the status.
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
