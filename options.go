package acpterm

// What an embedder can set for a manager, for one of its sessions, for one terminal, and the defaults.

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/acpterm/acpterm/internal/lookup"
)

// CommandOptions are what can be set for a command, at three levels: Create has them for one terminal, SessionOptions
// for a session and Options for all. A field that is zero at one level has the value of the next; where all are zero,
// the default stands here. The zero value is good at each level.
type CommandOptions struct {
	// Dir is the working directory for requests without cwd, an absolute path. Default: the first of the session's
	// Roots; else the host's own directory at the time of the request, or with a Runner the one that it chooses.
	Dir string

	// Env is the environment, "NAME=value", that the variables of requests are added to. Empty but not nil means no
	// variables, and so no PATH to look commands up with. Default: the host's environment at the time of the request,
	// or with a Runner its own.
	Env []string

	// Unattended are variables, "NAME=value", that replace those of Env for commands that no user answers, so that none
	// waits in a pager, an editor or a prompt: all commands but those whose PTY is Attended. A request's variables come
	// before them. Empty but not nil means none. Default: UnattendedVariables.
	Unattended []string

	// Shell runs shell lines; the zero Shell is the system's. A create fails with ErrInternal and this as Field if it
	// is not found. Default: the system's shell, or with a Runner sh -c.
	Shell *Shell

	// ShellLines says when a command without arguments is a shell line. Default: ShellAuto, when it is not a program
	// and looks like a line.
	ShellLines ShellMode

	// PTY runs the command on a PTY. Commands that a Runner runs cannot have one. Default: standard input is at its
	// end, and a pipe takes the output.
	PTY *PTYOptions

	// Limits are what the command may use. They replace those of the next level as a whole. Default: no limits.
	Limits *Limits

	// Sandbox rewrites the command just before it starts, after the policy. If it fails, so does the create. It cannot
	// be set with a Runner. Default: the command starts as it is.
	Sandbox Sandbox

	// Escalation is how a tree is ended, with a grace period between the signals: each step's signal goes to all of it,
	// and the next step follows when it is not gone after the step's wait. SIGKILL always comes last; what is not gone
	// 10 seconds after it, or after the wait of a last step that is SIGKILL, counts as a survivor. Empty but not nil
	// means SIGKILL at once. On Windows every other signal is CTRL_BREAK, and a step is skipped when the host has no
	// console to send it through. Default: SIGTERM and 5 seconds; with a PTY SIGHUP and 1 second, as when a terminal's
	// window is closed, since interactive shells ignore SIGTERM, and then SIGTERM and 4 seconds.
	Escalation []EscalationStep

	// Timeout is how long the command may run before its tree is ended. NoTimeout means without limit. Default:
	// NoTimeout.
	Timeout time.Duration

	// OutputByteLimit is how many bytes of output are kept if the request has no limit. Default: 1 MiB.
	OutputByteLimit int64

	// HeadBytes is how many bytes of the output's beginning are kept for Terminal.Head, in addition to what the limit
	// keeps of its end. They count for MaxOutputBytes. A request can ask for more, up to MaxOutputByteLimit. Default:
	// none.
	HeadBytes int64

	// FollowBytes is how many bytes of output are kept for Terminal.Follow at least, even if the request asks for
	// fewer, so that a user can see what an agent does not want. Default: 64 KiB.
	FollowBytes int64
}

// over returns the options with those of the next level where they are zero.
func (o CommandOptions) over(next CommandOptions) CommandOptions {
	if o.Sandbox == nil {
		o.Sandbox = next.Sandbox
	}
	return CommandOptions{
		Dir:             cmp.Or(o.Dir, next.Dir),
		Env:             orElse(o.Env, next.Env),
		Unattended:      orElse(o.Unattended, next.Unattended),
		Shell:           cmp.Or(o.Shell, next.Shell),
		ShellLines:      cmp.Or(o.ShellLines, next.ShellLines),
		PTY:             cmp.Or(o.PTY, next.PTY),
		Limits:          cmp.Or(o.Limits, next.Limits),
		Sandbox:         o.Sandbox,
		Escalation:      orElse(o.Escalation, next.Escalation),
		Timeout:         cmp.Or(o.Timeout, next.Timeout),
		OutputByteLimit: cmp.Or(o.OutputByteLimit, next.OutputByteLimit),
		HeadBytes:       cmp.Or(o.HeadBytes, next.HeadBytes),
		FollowBytes:     cmp.Or(o.FollowBytes, next.FollowBytes),
	}
}

// clone returns a copy that shares nothing that the embedder may change. Its Env has each name once.
func (o CommandOptions) clone(look lookups) CommandOptions {
	o.Env = look.copyEnv(o.Env)
	o.Unattended, o.Escalation = slices.Clone(o.Unattended), slices.Clone(o.Escalation)
	if o.Shell != nil {
		o.Shell = new(o.Shell.clone())
	}
	if o.PTY != nil {
		o.PTY = new(*o.PTY)
	}
	if o.Limits != nil {
		o.Limits = new(*o.Limits)
	}
	return o
}

// Options configure a Manager. The zero value, and nil in its place, is good: each field says what it means
// when it is left alone.
type Options struct {
	// Commands are options of commands, of all that neither the session nor Create sets.
	Commands CommandOptions

	// CommandsFor returns options of a command by what it is, for example a timeout or a PTY. They come before those of
	// Commands and of the session. The command is resolved by then and policies have not been asked yet, so Dir, Env,
	// Unattended, Shell and ShellLines cannot be set. The goroutine that creates the terminal calls it, concurrently
	// for several. If nil, or if it returns nil, no command has options of its own.
	CommandsFor func(SessionID, Command) *CommandOptions

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

	// RequireSessions has creates fail, with ErrSessionNotFound, for sessions that OpenSession has not opened.
	RequireSessions bool

	// Policy says what may run, in every session; SessionOptions.Policy and Roots are asked as well. Nil: everything.
	Policy Policy

	// Approve is asked about commands for which a policy says VerdictAsk. It may take as long as a person does: only
	// that create waits, and ctx ends when the request is cancelled, its connection or session ends, or the manager
	// closes; an answer after that counts for nothing, but Close waits for it. It is called concurrently for several.
	// Nil: such commands are denied.
	Approve func(ctx context.Context, q Question) Answer

	// Runner runs commands in place of this system, and looks them up: each with the directory, the environment and the
	// limits that it has by the other options, and with nothing of this system's where they are not set. Sandbox and
	// Cgroup are this system's, and cannot be set with it. The Journal is not called. Nil: this system runs them.
	Runner Runner

	// Record puts events on record. A *DecisionEvent comes before its command starts, from the goroutine of the create,
	// for several creates concurrently: if Record fails or panics, the command does not run and the create fails with
	// ErrInternal, or ErrCancelled when ctx has ended; the error is logged. A denial stays one. ctx ends when the
	// request is cancelled, its connection or session ends, or the manager closes; Record must return then: the create
	// waits for it, and Close does. All other events, and the decisions of creates that were cancelled before, come in
	// order from the goroutine that calls the hooks of Manager.Observe, before them; an error is logged, and ctx ends
	// when the context of a Shutdown does. The package audit writes them to a file. Nil: nothing has to be on record.
	Record func(ctx context.Context, event Event) error
}

// env is the environment that requests add to, each name once. base is the Runner's.
func (o *CommandOptions) env(runner Runner, base Base) []string {
	switch {
	case o.Env != nil:
		return o.Env // which the manager has copied so
	case runner != nil:
		return base.Env
	}
	return lookup.HostEnviron()
}

// unattended are the variables for commands that no user answers.
func (o *CommandOptions) unattended() []string { return orElse(o.Unattended, UnattendedVariables()) }

func (o *CommandOptions) escalation() []EscalationStep {
	switch {
	case o.Escalation != nil:
		return o.Escalation
	case o.PTY != nil && !hasSessions: // the only step: the console is closed
		return []EscalationStep{{Signal: syscall.SIGHUP}}
	case o.PTY != nil: // SIGTERM for what was started with SIGHUP ignored, as by nohup
		return []EscalationStep{{syscall.SIGHUP, time.Second}, {syscall.SIGTERM, 4 * time.Second}}
	}
	return []EscalationStep{{Signal: syscall.SIGTERM}}
}

// maxKept is how many bytes of output a terminal keeps at the most, whatever the options say.
const maxKept = 1 << 40

// limits of a terminal's output, in bytes.
type outputLimits struct {
	last int64 // what Output shows
	head int64 // what Head returns
	kept int64 // what the ring buffer keeps at least
}

// outputLimits returns those of a command, for a request that asks for a limit, nil if it does not, and for a head.
func (o *Options) outputLimits(c *CommandOptions, asked *uint64, head int64) outputLimits {
	most := min(cmp.Or(o.MaxOutputByteLimit, 16<<20), maxKept)
	limit := cmp.Or(c.OutputByteLimit, 1<<20)
	if asked != nil {
		limit = int64(min(*asked, maxKept))
	}
	limit = min(limit, most)
	return outputLimits{
		last: limit,
		head: min(max(c.HeadBytes, head), most),
		kept: max(limit, min(cmp.Or(c.FollowBytes, 64<<10), maxKept)),
	}
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
		{"MaxOutputByteLimit", o.MaxOutputByteLimit}, {"MaxTerminals", int64(o.MaxTerminals)},
		{"MaxSessionTerminals", int64(o.MaxSessionTerminals)}, {"MaxOutputBytes", o.MaxOutputBytes},
	} {
		if number.value < 0 {
			return optionError("Options."+number.field, "must not be negative")
		}
	}
	switch {
	case o.Runner != nil && o.Cgroup != "":
		return optionError("Options.Cgroup", "is of no use to commands that Options.Runner runs")
	case o.KeepDetached && (!hasSessions || o.Runner != nil || o.Cgroup != ""):
		return optionError("Options.KeepDetached", "cannot be had on this system, or with a Cgroup or a Runner")
	}
	return o.Commands.validate("Options.Commands", o.Runner)
}

// validate returns why the options cannot hold where a Runner runs commands or not, or nil.
func (o *SessionOptions) validate(runner Runner) error {
	if o.MaxTerminals < 0 {
		return optionError("SessionOptions.MaxTerminals", "must not be negative")
	}
	return o.Commands.validate("SessionOptions.Commands", runner)
}

// validate returns why the options, called level, cannot hold where a Runner runs commands or not, or nil.
func (o *CommandOptions) validate(level string, runner Runner) error {
	if o == nil {
		return nil
	}
	switch {
	case o.OutputByteLimit < 0:
		return optionError(level+".OutputByteLimit", "must not be negative")
	case o.HeadBytes < 0:
		return optionError(level+".HeadBytes", "must not be negative")
	case o.FollowBytes < 0:
		return optionError(level+".FollowBytes", "must not be negative")
	case o.Timeout < NoTimeout:
		return optionError(level+".Timeout", "must not be negative")
	case o.ShellLines < ShellAuto || o.ShellLines > ShellAlways:
		return optionError(level+".ShellLines", fmt.Sprintf("is none of the modes: %d", o.ShellLines))
	case runner != nil && o.Sandbox != nil:
		return optionError(level+".Sandbox", "is of no use to commands that Options.Runner runs")
	case runner != nil && o.PTY != nil:
		return optionError(level+".PTY", "is of no use to commands that Options.Runner runs")
	case runner == nil && o.Dir != "" && !filepath.IsAbs(o.Dir):
		return optionError(level+".Dir", "must be an absolute path")
	}
	if err := o.PTY.validate(level + ".PTY"); err != nil {
		return err
	}
	if err := checkEscalation(level, o.Escalation); err != nil {
		return err
	}
	if o.Shell != nil {
		if err := o.Shell.validate(level+".Shell", runner); err != nil {
			return err
		}
	}
	if o.Limits == nil {
		return nil
	}
	_, err := o.Limits.asked(level + ".")
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
	// Commands are options of this session's commands. They come before those of Options.
	Commands CommandOptions

	// Roots are directories, absolute paths: commands may only run in them and below. Links in them are followed once,
	// by OpenSession. Sandboxes let commands write there. Nil: commands may run anywhere; empty but not nil: nowhere.
	Roots []string

	// Policy says what may run in this session, besides Options.Policy: the strictest wins. Nil: that alone.
	Policy Policy

	// MaxTerminals is how many terminals the session may have at once. 0: Options.MaxSessionTerminals.
	MaxTerminals int
}

// NoTimeout, as a timeout, lets a command run without limit.
const NoTimeout time.Duration = -1
