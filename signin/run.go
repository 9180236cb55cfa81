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

// Options configure Run. A nil *Options is equivalent to the zero value, which is ready to use.
type Options struct {
	// Manager runs the program, so that it appears in the manager's views. The manager's policies, sandbox, limits and
	// records apply. If nil, Run uses its own manager without any of these. That manager leaves deliberately detached
	// processes running, such as a browser (see acpterm.Options.KeepDetached).
	Manager *acpterm.Manager

	// Session is the program's session in the manager. It must not be open, because Run opens it with the agent's
	// environment and directory, and closes it. It must not be one of the agent's sessions, as the agent could then
	// read the terminal. If empty, a random session is used.
	Session acpterm.SessionID

	// PTY specifies the terminal's size and TERM. The program is always treated as attended.
	PTY acpterm.PTYOptions

	// Started, if non-nil, is called with the program's terminal once the program is running. It can be used, for
	// example, to resize the terminal with the user's by calling Terminal.Resize. Run waits for it to return.
	Started func(*acpterm.Terminal)

	// AllowVariables lists the variables that a method may set in addition to policy.SafeVariables, in the form of
	// policy.AllowVariables. If a method sets any other variable, Run fails without running anything. Otherwise an
	// agent could, for example, use LD_PRELOAD to load a library into the first program of the embedder's command line,
	// which may be the one confining the agent. "*" allows all variables.
	AllowVariables []string

	// AllowLegacyCommand allows methods with a LegacyCommand, which may run any program chosen by the agent. If false,
	// Run fails for such methods without running anything.
	AllowLegacyCommand bool
}

// Error is returned by Run if a method did not succeed. errors.Is and errors.As also find Err.
type Error struct {
	// Method is the method's ID.
	Method string
	// Status is the program's exit status, or nil if the program did not run or its end was not observed.
	Status *acpterm.TerminalExitStatus
	// Err is the reason why the program did not run, was ended, or could not be ended completely. In the last case,
	// Status may be exit code 0. Err is nil if the program ended by itself with another status.
	Err error
}

// Error returns a message with the method and the reason, or else the status.
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
// exits with code 0. The protocol requires the agent to be started again afterwards.
//
// agent is an exec.Cmd like the one used to start the agent, but not the one passed to agentproc.Start, which has
// modified it. Run only reads its Path, Args, Env and Dir. If Args[0] differs from Path, it is not used.
//
// Run copies the program's output to term byte for byte, and input from term to the program, until it returns. term
// should be the user's terminal in raw mode. If Read returns io.EOF, Run sends "\x04" to end the program's input. Any
// other error of term ends the program. When Run returns, a Read is still pending, and the bytes read by it are lost,
// so the Read of term should be interruptible. A pending Write is waited for. If Options.Manager is set, term may be
// nil, in which case the user answers through a view or through Terminal.Write.
//
// Cancelling ctx ends the program by the steps of the manager's Escalation. No other timeout applies. After Run has
// returned, none of the program's processes remain, except for those listed in the error.
//
// Run returns an *Error whose Err is an *acpterm.Error or the error of a Read or Write of term. Its kind is
// ErrInvalidParams if the agent, method or session cannot be used; ErrDenied if refused by the manager's policies,
// because of a LegacyCommand or because of RefusedVariables, which are named; ErrCommandNotFound; ErrNotExecutable;
// ErrCancelled if ctx was done first; ErrSurvivors; or another kind returned by Manager.Create, for example with
// errors.ErrUnsupported where commands cannot have a PTY. Errors never contain the values of variables or typed input.
//
// Run may be called concurrently, with a different term each time.
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
