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

// Options specifies optional settings for Run. The zero value is ready to use and is equivalent to a nil *Options.
type Options struct {
	// Manager, if non-nil, is used to run the program. In that case, the program appears in the manager's views and
	// records and is subject to its policies, sandbox and limits. If Manager is nil, Run creates its own manager, to
	// which none of these apply. On systems other than Windows, Run's own manager does not terminate processes that
	// have been deliberately detached, such as a browser (see acpterm.Options.KeepDetached).
	Manager *acpterm.Manager

	// Session identifies the manager's session for the program. If empty, a random session ID is used. Run opens the
	// session with the agent's environment and directory and closes it before returning, so the session must not
	// already be open. In particular, do not use one of the agent's own sessions, since the agent could then read the
	// terminal.
	Session acpterm.SessionID

	// PTY specifies the size and TERM of the terminal. Attended need not be set, because it is always assumed to be
	// true.
	PTY acpterm.PTYOptions

	// Started, if non-nil, is called with the terminal as soon as the program is running. For example, it can arrange
	// for Terminal.Resize to be called whenever the user's terminal is resized. Run waits until Started returns.
	Started func(*acpterm.Terminal)

	// AllowVariables lists variables that a method may set in addition to policy.SafeVariables, in the form described
	// in policy.AllowVariables. Use "*" to allow all variables. If a method sets any other variable, Run returns an
	// error without running anything. This is important because an agent could, for example, set LD_PRELOAD in order to
	// load a library into the first program of the host's command line, which may be the very program that is used to
	// confine the agent.
	AllowVariables []string

	// AllowLegacyCommand permits methods with a LegacyCommand. Note that the LegacyCommand may be any program that the
	// agent chooses. By default, Run returns an error for these methods without running anything.
	AllowLegacyCommand bool
}

// An Error is returned by Run if the sign-in did not succeed. Use errors.Is and errors.As to examine Err.
type Error struct {
	// Method is the method's ID.
	Method string
	// Status is the exit status of the program, or nil if the program did not run or its status is unknown.
	Status *acpterm.TerminalExitStatus
	// Err is the reason the program did not run, was terminated, or left behind processes that could not be killed. If
	// processes were left behind, Status may be exit code 0. If Err is nil, the program exited on its own, but its
	// status was not exit code 0.
	Err error
}

// Error returns a message that includes the method and either the reason or the status.
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

// Run signs in using the given method. It runs the agent's program on a PTY in the agent's directory. The arguments of
// the method are appended to the agent's arguments, and the variables of the method override those in the agent's
// environment. Run returns nil only if the program exits with code 0. The agent must then be restarted, as required by
// the protocol.
//
// The agent argument is an exec.Cmd like the one used to start the agent. It must not be the exec.Cmd passed to
// agentproc.Start, because Start modifies its argument. Run reads only the Path, Args, Env and Dir fields, and ignores
// Args[0] even if it differs from Path.
//
// Until it returns, Run copies the program's output to term byte for byte, and copies input from term to the program.
// The term argument should be the user's terminal in raw mode. If Read returns io.EOF, Run sends "\x04" to signal the
// end of the program's input. If reading from or writing to term fails with any other error, Run terminates the
// program. Before it returns, Run waits for a pending call to Write to complete. However, it does not wait for a
// pending call to Read, and any bytes that this call reads are lost, so there should be a way to interrupt Read. If
// Options.Manager is set, term may be nil. In that case, the user responds to the program through a view or by means of
// Terminal.Write.
//
// If ctx is cancelled, the program is terminated using the steps in the manager's Escalation. No other timeout applies.
// When Run returns, all of the program's processes have exited, except for detached ones (see Options.Manager) and
// those listed in the error.
//
// Any error returned by Run is of type *Error. If its Err field is not nil, Err is either an *acpterm.Error or an error
// from reading or writing term. The kind of the *acpterm.Error is one of the following:
//
//   - ErrInvalidParams if the agent, the method or the session cannot be used.
//   - ErrDenied if the program was denied by the manager's policies, because the method has a LegacyCommand, or because
//     it has RefusedVariables. In the last case, the error includes the names of the variables.
//   - ErrCommandNotFound, ErrNotExecutable or ErrSurvivors.
//   - ErrCancelled if ctx was done before the program exited.
//   - Another kind returned by Manager.Create. For example, if commands cannot have a PTY on this system, the error
//     also matches errors.ErrUnsupported.
//
// Errors never contain the values of variables or any input typed by the user.
//
// Run may be called concurrently, provided that each call uses a different term.
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
		PTY: &pty, Timeout: -1, ShellLines: acpterm.ShellNever,
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
