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

// Options configure Run. The zero value, and a nil *Options, are valid.
type Options struct {
	// Manager runs the program, so that a view of it shows the program. Its policies, sandbox, limits and records
	// apply. If nil, Run uses its own manager without any of these, which leaves deliberately detached processes
	// running, such as a browser (acpterm.Options.KeepDetached).
	Manager *acpterm.Manager

	// Session is the program's session in the manager. It must not be open: Run opens it, with the agent's environment
	// and directory, and closes it. It must not be one of the agent's sessions, since the agent could then read the
	// terminal. If empty, Run chooses a random one.
	Session acpterm.SessionID

	// PTY is the terminal's size and TERM. The program always counts as attended.
	PTY acpterm.PTYOptions

	// Started is called with the program's terminal when the program runs, for example to resize it with the user's
	// terminal by Terminal.Resize. Run waits for it. Started may be nil.
	Started func(*acpterm.Terminal)

	// AllowVariables lists the variables that a method may set in addition to policy.SafeVariables, in the form of
	// policy.AllowVariables. Run fails for a method that sets any other variable, and nothing runs: with LD_PRELOAD,
	// for example, an agent could name a library for the first program of the embedder's command line, possibly the one
	// that confines the agent. "*" allows all variables.
	AllowVariables []string

	// AllowLegacyCommand allows methods with a LegacyCommand, which runs any program that the agent names. If false,
	// Run fails for such methods, and nothing runs.
	AllowLegacyCommand bool
}

// Error describes why Run did not run a method successfully. errors.Is and errors.As also find Err.
type Error struct {
	// Method is the method's ID.
	Method string
	// Status is the program's exit status, or nil if the program did not run or its end was not seen.
	Status *acpterm.TerminalExitStatus
	// Err is the reason why the program did not run, was ended, or could not be ended completely; in the last case
	// Status may be exit code 0. It is nil if the program ended by itself, with another status.
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

// Run signs in by a method. It runs the agent's program on a PTY in the agent's directory, with the agent's arguments
// followed by the method's, and the agent's environment overridden by the method's. It returns nil only if the program
// exits with code 0. The agent must then be started again, as the protocol says.
//
// agent is an exec.Cmd like the one that starts the agent, but not the one given to agentproc.Start, which has changed
// it. Run only reads its Path, Args, Env and Dir. It does not use a name in Args[0] that differs from Path.
//
// Until Run returns, it copies the program's output to term byte for byte, and input from term to the program: term is
// the user's terminal in raw mode. If a Read returns io.EOF, Run sends "\x04", which ends the program's input; any
// other error of term ends the program. Run leaves one Read pending, and the bytes that it reads are lost: the Read of
// term should be interruptible. Run waits for a pending Write. term may be nil with a Manager: then the user answers
// through a view, or through Terminal.Write.
//
// Cancelling ctx ends the program, with the steps of the manager's Escalation; no other timeout applies. After Run
// has returned, no process of the program remains, except those in its error.
//
// Run returns an *Error. Its Err is an *acpterm.Error or the error of a Read or Write of term. The kind is
// ErrInvalidParams for an unusable agent, method or session; ErrDenied by a policy of the manager, for a LegacyCommand
// or for RefusedVariables, which it names; ErrCommandNotFound; ErrNotExecutable; ErrCancelled if ctx was done first;
// ErrSurvivors; or another kind that Manager.Create returns, for example with errors.ErrUnsupported where commands
// cannot have a PTY. No error contains the value of a variable, or typed input.
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
