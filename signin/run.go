package signin

// Running a method: the agent's program once more, in a terminal of a Manager.

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

// Options are how Run runs a method. The zero value, and nil in its place, is good.
type Options struct {
	// Manager runs the program, so that a view of it shows the program; its policies, sandbox, limits and records hold
	// for it. Nil: a manager of Run's own, without any of these, which lets live what the program detaches on purpose,
	// such as a browser (acpterm.Options.KeepDetached).
	Manager *acpterm.Manager

	// Session is the session of the program in the manager, which must not be open: Run opens it, with the agent's
	// environment and directory, and closes it. It must not be one of the agent's, which could read the terminal.
	// Empty: a random one.
	Session acpterm.SessionID

	// PTY is the terminal's size and TERM. The program always counts as attended.
	PTY acpterm.PTYOptions

	// Started is called with the program's terminal when it runs, for example to follow the size of the person's
	// terminal by Terminal.Resize. Run waits for it. Nil: nothing is called.
	Started func(*acpterm.Terminal)

	// AllowVariables are the variables that a method may set, in the form of policy.AllowVariables, as well as those of
	// policy.SafeVariables. Run fails for a method that sets another, and nothing runs: in LD_PRELOAD, for example, an
	// agent names a library for the first program of the embedder's command line, which may be what confines the agent.
	// "*" allows all.
	AllowVariables []string

	// AllowLegacyCommand lets a method with a LegacyCommand run, which is whatever program the agent names. False: Run
	// fails for one, and nothing runs.
	AllowLegacyCommand bool
}

// Error is a method that Run has not run to success. errors.Is and errors.As also find Err.
type Error struct {
	// Method is the method's ID.
	Method string
	// Status is how the program ended. Nil: it did not run, or its end was not seen.
	Status *acpterm.TerminalExitStatus
	// Err is why the program did not run, was ended, or could not be ended as a whole: then Status may be exit code 0.
	// Nil: it ended by itself, with another status.
	Err error
}

// Error names the method and the reason, or else the status.
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

// Run signs in by a method: it runs the agent's program on a PTY, with the agent's directory, its arguments and then
// the method's, its environment and over that the method's, and returns nil only when it has exited with code 0. Then
// the agent is to be started again, as the protocol says.
//
// agent is an exec.Cmd as the agent is started with, but not the one given to agentproc.Start, which has changed it.
// Of it Path, Args, Env and Dir are read, and nothing is changed. A name in Args[0] other than Path is not used.
//
// What the program writes goes to term byte for byte, and what is read from term to the program, until Run returns:
// term is the person's terminal in raw mode. io.EOF of a Read is passed on as "\x04", which ends the program's input;
// another error of term ends the program. Run leaves one Read pending, and what that reads is lost: give term a Read
// that can be ended. It waits for a Write that is under way. term may be nil with a Manager: then the person answers by
// a view, or by Terminal.Write.
//
// The end of ctx ends the program, step by step as the manager's Escalation says; no other timeout does. When Run has
// returned, nothing of it is left but what its error reports.
//
// It fails with an *Error, whose Err is an *acpterm.Error of kind ErrInvalidParams for an agent, a method or a session
// that cannot be used, ErrDenied by a policy of the manager, for a LegacyCommand or for RefusedVariables, which it
// names, ErrCommandNotFound, ErrNotExecutable, ErrCancelled when ctx ended first, ErrSurvivors, or another that
// Manager.Create returns, as with errors.ErrUnsupported where no command can have a PTY; or what a Read or Write of
// term failed with. No error has the value of a variable, or what was typed.
//
// Run may be called concurrently, each time with another term.
func Run(ctx context.Context, agent *exec.Cmd, method Method, term io.ReadWriter, options *Options) error {
	status, err := run(ctx, agent, method, term, cmp.Or(options, &Options{}))
	if err == nil && status != nil && status.Success() {
		return nil
	}
	return &Error{Method: method.ID, Status: status, Err: err}
}

// run is Run; it also returns how the program ended, if that is known.
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
	own     bool // the manager is Run's
	session acpterm.SessionID
	shown   <-chan struct{} // closed when the person's terminal has all that the program wrote; nil: there is none
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

// end ends what the program has left, and returns when the person's terminal has all that it wrote.
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
