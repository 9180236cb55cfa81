package acpterm

// What an embedder can set for a manager, for one of its sessions, for one terminal, and the defaults.

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"syscall"
	"time"

	"github.com/acpterm/acpterm/internal/lookup"
)

// Options configure a Manager. The zero value, and nil in its place, is good: each field says what it means
// when it is left alone.
type Options struct {
	// Dir is the working directory for requests without cwd, an absolute path. Empty: the host's own at the
	// time of the request; with a Runner the one that it chooses.
	Dir string

	// Env is the environment that requests add to, "NAME=value". Nil: the host's own at the time of the
	// request; with a Runner none. Empty but not nil: none, so that there is no PATH to look commands up with either.
	Env []string

	// Unattended are variables, "NAME=value", that are put over Env for commands that no person answers, so that none
	// waits in a pager, an editor or a prompt: all but those with a PTY that is PTYOptions.Attended. A request's
	// variables come before them. Nil: UnattendedVariables. Empty but not nil: none.
	Unattended []string

	// PTY says which commands run on a PTY, and how. It is called with each command as it was resolved, before the
	// policies, which see what it returns as Proposal.PTY; TerminalOptions.PTY comes before it. Commands that a Runner
	// runs can have none. It is called by the goroutine that creates the terminal, concurrently for several. Nil, and a
	// function that returns nil: the command has no terminal, standard input at its end, and a pipe for its output.
	PTY func(SessionID, Command) *PTYOptions

	// OutputByteLimit is how many bytes of output are kept for a request that names no limit. 0: 1 MiB.
	OutputByteLimit int64

	// MaxOutputByteLimit is the most that a request can ask for; higher limits are lowered to it. 0: 16 MiB.
	MaxOutputByteLimit int64

	// MaxTerminals is how many terminals there may be at once. One counts from its create until its tree is gone: to
	// release it is not enough. A create beyond fails with ErrQuota. 0: 4096.
	MaxTerminals int

	// MaxSessionTerminals is the same for each session. 0: 1024.
	MaxSessionTerminals int

	// MaxOutputBytes is how many bytes of output all terminals together may have room for, by their limits and not by
	// what they have written, until they are released; one with a PTY has room for the text besides. A create beyond
	// fails with ErrQuota. 0: 4 GiB, which is 256 terminals with the highest limit.
	MaxOutputBytes int64

	// HeadBytes is how many bytes of each output's beginning are kept, for Terminal.Head, besides what the limit keeps
	// of its end. They count for MaxOutputBytes. A request can ask for more, up to MaxOutputByteLimit. 0: none.
	HeadBytes int64

	// FollowBytes is how many bytes of output are kept for Terminal.Follow at the least, however little the
	// request asks for, so that a person can see what an agent does not want to. 0: 64 KiB.
	FollowBytes int64

	// ShellLines says when a command without arguments is a shell line. The zero value, ShellAuto, is when it is no
	// program and looks like one.
	ShellLines ShellMode

	// Shell is what runs shell lines. A create fails with ErrInternal and this as Field if it is not found.
	// SessionOptions.Shell comes before it. The zero value: the system's shell, with a Runner sh -c.
	Shell Shell

	// Escalation is how a tree is ended, with a grace period between the signals: each step's signal goes to all of it,
	// and the next step follows when it is not gone after the step's wait. SIGKILL always comes last; what is not gone
	// 10 seconds after it, or after the wait of a last step that is SIGKILL, counts as a survivor. Nil: SIGTERM and 5
	// seconds; with a PTY SIGHUP and 1 second, as when a terminal's window is closed, since interactive shells ignore
	// SIGTERM, and then SIGTERM and 4 seconds. Empty but not nil: SIGKILL at once. On Windows every other signal is
	// CTRL_BREAK, and a step is skipped when the host has no console to send it through.
	Escalation []EscalationStep

	// Cgroup is a cgroup v2 directory that this process may make others in. Each command is started in one of its own,
	// and all of it is killed at once. A process leaves it only by writing to cgroup.procs of another cgroup below the
	// directory: have commands run as another user, or in a sandbox, if they must not. Without one, a process that
	// cleared its environment, closed the output and left the session is not found. Linux only; a create fails where it
	// cannot be had. Empty: none.
	Cgroup string

	// KeepDetached lets what a command detaches on purpose outlive every end of its terminal: a process in a session of
	// its own that does not hold the output, such as the server that tmux or gpg-agent starts, or an editor's window.
	// Everything else ends as without it. It takes a system that has sessions, and no Cgroup; what a sandbox confines
	// ends all the same, and journal.Recover ends it when the host died. False: everything that a command started
	// ends.
	KeepDetached bool

	// Journal records each command from before it starts until a kill or a release has ended its tree: the end of the
	// command alone is not the end of what it started. In the package journal, Dir is one, and Recover ends what a
	// host that died has left running. A create fails when the record cannot be written, and a release when it cannot
	// be removed. Managers may share a journal. Nil: none.
	Journal Journal

	// HostReaps says that the host's program reaps every child of its process, by wait4(-1), and calls Manager.Reaped
	// for each. Commands then end with the status that Reaped was called with, where Linux (before 6.15) does not tell
	// it. False: nothing but this package reaps the processes that it starts. Where that does not hold, it is logged
	// once, and a command whose exit status was lost ends with ErrExitLost.
	HostReaps bool

	// Timeout is how long a command may run before its tree is ended. TerminalOptions.Timeout, TimeoutFor and
	// SessionOptions.Timeout come before it, in this order. 0: NoTimeout.
	Timeout time.Duration

	// TimeoutFor is the timeout of a command by what it is. 0: the session's or the manager's. It is called by
	// the goroutine that creates the terminal, concurrently for several. Nil: no command has one of its own.
	TimeoutFor func(SessionID, Command) time.Duration

	// RequireSessions has creates fail, with ErrSessionNotFound, for sessions that OpenSession has not opened.
	RequireSessions bool

	// Policy says what may run, in every session; SessionOptions.Policy and Roots are asked as well. Nil: everything.
	Policy Policy

	// Approve is asked about commands for which a policy says VerdictAsk. It may take as long as a person does: only
	// that create waits, and ctx ends when the request is cancelled, its connection or session ends, or the manager
	// closes; an answer after that counts for nothing, but Close waits for it. It is called concurrently for several.
	// Nil: such commands are denied.
	Approve func(ctx context.Context, q Question) Answer

	// Sandbox rewrites each command just before it starts, after the policy. SessionOptions.Sandbox comes before it.
	// When it fails, so does the create. Nil: commands are started as they are.
	Sandbox Sandbox

	// Runner runs commands in place of this system, and looks them up: each with the directory, the environment and the
	// limits that it has by the other options, and with nothing of this system's where they are not set. Sandbox and
	// Cgroup are this system's, and cannot be set with it. The Journal is not called. Nil: this system runs them.
	Runner Runner

	// Limits are what each command may use. TerminalOptions.Limits and SessionOptions.Limits come before it, as a
	// whole. The zero value bounds nothing.
	Limits Limits

	// Record puts events on record. A *DecisionEvent comes before its command starts, from the goroutine of the create,
	// for several creates concurrently: if Record fails or panics, the command does not run and the create fails with
	// ErrInternal, or ErrCancelled when ctx has ended; the error is logged. A denial stays one. ctx ends when the
	// request is cancelled, its connection or session ends, or the manager closes; Record must return then: the create
	// waits for it, and Close does. All other events, and the decisions of creates that were cancelled before, come in
	// order from the goroutine that calls Events, before Events; an error is logged, and ctx ends when the context of a
	// Shutdown does. The package audit writes them to a file. Nil: nothing has to be on record.
	Record func(ctx context.Context, event Event) error

	// Events is called with each event: decisions, starts, ends, and processes that survived an ending. It is called
	// from one goroutine, in order, after the fact: what must be on record before a command runs is for Record. A slow
	// hook delays nothing but Close, which returns after the last event; but while 10,000 events, 64 MiB of them or
	// MaxOutputBytes of released terminals' output wait, creates fail with ErrQuota. It may call the manager, Create
	// too, but neither Close nor Shutdown, which wait for it. A panic is logged. The hook may keep an event, but must
	// not change what it points to. Nil: no hook.
	Events func(Event)
}

// env is the environment that requests add to, each name once. base is the Runner's.
func (o *Options) env(base Base) []string {
	switch {
	case o.Env != nil:
		return o.Env // which the manager has copied so
	case o.Runner != nil:
		return base.Env
	}
	return lookup.HostEnviron()
}

// unattended are the variables for commands that no person answers.
func (o *Options) unattended() []string { return orElse(o.Unattended, UnattendedVariables()) }

func (o *Options) escalation(pty *PTYOptions) []EscalationStep {
	switch {
	case o.Escalation != nil:
		return o.Escalation
	case pty != nil && !hasSessions: // the only step: the console is closed
		return []EscalationStep{{Signal: syscall.SIGHUP}}
	case pty != nil: // SIGTERM for what was started with SIGHUP ignored, as by nohup
		return []EscalationStep{{syscall.SIGHUP, time.Second}, {syscall.SIGTERM, 4 * time.Second}}
	}
	return []EscalationStep{{Signal: syscall.SIGTERM}}
}

// maxKept is how many bytes of output a terminal keeps at the most, whatever the options say.
const maxKept = 1 << 40

// outputLimit is the limit, in bytes, of a terminal whose request asks for this one.
func (o *Options) outputLimit(asked *uint64) int64 {
	limit := cmp.Or(o.OutputByteLimit, 1<<20)
	if asked != nil {
		limit = int64(min(*asked, maxKept))
	}
	return min(limit, cmp.Or(o.MaxOutputByteLimit, 16<<20), maxKept)
}

// headLimit is how many bytes of its output's beginning a terminal keeps whose request asks for so many.
func (o *Options) headLimit(asked int64) int64 {
	return min(max(o.HeadBytes, asked), cmp.Or(o.MaxOutputByteLimit, 16<<20), maxKept)
}

// keep is how many bytes of output a terminal with this limit keeps.
func (o *Options) keep(limit int64) int64 {
	return max(limit, min(cmp.Or(o.FollowBytes, 64<<10), maxKept))
}

func (o *Options) maxTerminals() int        { return cmp.Or(o.MaxTerminals, 4096) }
func (o *Options) maxSessionTerminals() int { return cmp.Or(o.MaxSessionTerminals, 1024) }
func (o *Options) maxOutputBytes() int64    { return cmp.Or(o.MaxOutputBytes, 4<<30) }

// validate returns why the options cannot hold, or nil.
func (o *Options) validate() error {
	for _, number := range []struct {
		field string
		value int64
	}{
		{"OutputByteLimit", o.OutputByteLimit}, {"MaxOutputByteLimit", o.MaxOutputByteLimit},
		{"MaxTerminals", int64(o.MaxTerminals)}, {"MaxSessionTerminals", int64(o.MaxSessionTerminals)},
		{"MaxOutputBytes", o.MaxOutputBytes}, {"FollowBytes", o.FollowBytes},
		{"HeadBytes", o.HeadBytes},
	} {
		if number.value < 0 {
			return optionError("Options."+number.field, "must not be negative")
		}
	}
	if err := checkEscalation("Options", o.Escalation); err != nil {
		return err
	}
	switch {
	case o.ShellLines < ShellAuto || o.ShellLines > ShellAlways:
		return optionError("Options.ShellLines", fmt.Sprintf("is none of the modes: %d", o.ShellLines))
	case o.Timeout < NoTimeout:
		return optionError("Options.Timeout", "must not be negative")
	case o.Runner != nil && o.Sandbox != nil:
		return optionError("Options.Sandbox", "is of no use to commands that Options.Runner runs")
	case o.Runner != nil && o.PTY != nil:
		return optionError("Options.PTY", "is of no use to commands that Options.Runner runs")
	case o.Runner != nil && o.Cgroup != "":
		return optionError("Options.Cgroup", "is of no use to commands that Options.Runner runs")
	case o.KeepDetached && (!hasSessions || o.Runner != nil || o.Cgroup != ""):
		return optionError("Options.KeepDetached", "cannot be had on this system, or with a Cgroup or a Runner")
	case o.Runner == nil && o.Dir != "" && !filepath.IsAbs(o.Dir):
		return optionError("Options.Dir", "must be an absolute path")
	}
	if err := o.Shell.validate("Options.Shell", o.Runner); err != nil {
		return err
	}
	_, err := o.Limits.asked("Options.")
	return err
}

// validate returns why the options cannot hold where a Runner runs commands or not, or nil.
func (o *SessionOptions) validate(runner Runner) error {
	switch {
	case o.Timeout < NoTimeout:
		return optionError("SessionOptions.Timeout", "must not be negative")
	case o.MaxTerminals < 0:
		return optionError("SessionOptions.MaxTerminals", "must not be negative")
	case runner != nil && o.Sandbox != nil:
		return optionError("SessionOptions.Sandbox", "is of no use to commands that Options.Runner runs")
	case runner == nil && o.Dir != "" && !filepath.IsAbs(o.Dir):
		return optionError("SessionOptions.Dir", "must be an absolute path")
	}
	if o.Shell != nil {
		if err := o.Shell.validate("SessionOptions.Shell", runner); err != nil {
			return err
		}
	}
	if o.Limits == nil {
		return nil
	}
	_, err := o.Limits.asked("SessionOptions.")
	return err
}

// validate returns why the options cannot hold, or nil.
func (o *TerminalOptions) validate() error {
	switch {
	case o == nil:
		return nil
	case o.Timeout < NoTimeout:
		return optionError("TerminalOptions.Timeout", "must not be negative")
	}
	if err := o.PTY.validate("TerminalOptions.PTY"); err != nil {
		return err
	}
	if err := checkEscalation("TerminalOptions", o.Escalation); err != nil || o.Limits == nil {
		return err
	}
	_, err := o.Limits.asked("TerminalOptions.")
	return err
}

func checkEscalation(options string, steps []EscalationStep) error {
	for i, step := range steps {
		if step.Signal <= 0 || step.Wait < 0 {
			field := fmt.Sprintf("%s.Escalation[%d]", options, i)
			return optionError(field, "must have a signal, and no negative wait")
		}
	}
	return nil
}

// optionError is the error for an option that cannot hold, which is the host's mistake.
func optionError(field, reason string) *Error {
	return &Error{Kind: ErrInternal, Field: field, Reason: reason}
}

// SessionOptions are what OpenSession gives a session of its own. The zero value, and nil in its place, is a session
// like any other.
type SessionOptions struct {
	// Dir is the working directory for requests without cwd, an absolute path. Empty: the first of Roots, or
	// Options.Dir if there are none.
	Dir string

	// Roots are directories, absolute paths: commands may only run in them and below. Links in them are followed once,
	// by OpenSession. Sandboxes let commands write there. Nil: commands may run anywhere; empty but not nil: nowhere.
	Roots []string

	// Env is the environment that requests add to. Nil: Options.Env.
	Env []string

	// Shell is what runs this session's shell lines. Nil: Options.Shell.
	Shell *Shell

	// Policy says what may run in this session, besides Options.Policy: the strictest wins. Nil: that alone.
	Policy Policy

	// Sandbox rewrites this session's commands just before they start. Nil: Options.Sandbox.
	Sandbox Sandbox

	// Timeout is how long a command of this session may run before its tree is ended. 0: Options.Timeout. NoTimeout:
	// without limit.
	Timeout time.Duration

	// Limits are what each command of this session may use. Nil: Options.Limits.
	Limits *Limits

	// MaxTerminals is how many terminals the session may have at once. 0: Options.MaxSessionTerminals.
	MaxTerminals int
}

// TerminalOptions are what Manager.Create gives one terminal of its own. The zero value, and nil in its place, is a
// terminal like any other of its session.
type TerminalOptions struct {
	// Timeout is how long the command may run before its tree is ended. 0: Options.TimeoutFor, or else the session's or
	// the manager's. NoTimeout: without limit.
	Timeout time.Duration

	// Escalation is how the command's tree is ended. Nil: Options.Escalation, which says what the steps mean. Empty but
	// not nil: SIGKILL at once.
	Escalation []EscalationStep

	// Limits are what the command may use, as a whole. Nil: the session's or the manager's.
	Limits *Limits

	// PTY has the command run on a PTY. Nil: what Options.PTY says.
	PTY *PTYOptions

	// NoShell says that the command is a program's name also without arguments, whatever Options.ShellLines says.
	NoShell bool
}

// NoTimeout, as a timeout, lets a command run without limit.
const NoTimeout time.Duration = -1
