package acpterm

// The options of a Manager, a session, a command and a Handler, and their defaults.

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm/internal/lookup"
	"github.com/acpterm/acpterm/internal/pin"
)

// CommandOptions configure a command. They can be set, in this order of precedence, by Create for one terminal, by
// Options.CommandsFor for certain commands, in SessionOptions for a session, and in Options for all commands. A zero
// field means the value of the next level; if all levels are zero, the default below applies.
type CommandOptions struct {
	// Dir is the working directory for requests without cwd, an absolute path. The default is the first of the
	// session's Roots, or else the host's working directory at the time of the request; with a Runner, the directory
	// that the Runner chooses.
	Dir string

	// Env is the base environment, "NAME=value"; requests add variables. A non-nil, empty slice means no variables, and
	// so no PATH for looking up commands. The default is the host's environment at the time of the request; with a
	// Runner, the Runner's.
	Env []string

	// Unattended lists variables, "NAME=value", that override Env for commands whose output no user answers, so that no
	// pager, editor or prompt waits: all commands but those whose PTY is Attended. Variables of the request override
	// them. A non-nil, empty slice means none. The default is UnattendedVariables.
	Unattended []string

	// Shell runs shell lines; the zero Shell is the system's. If the shell is not found, Create fails with ErrInternal
	// and "CommandOptions.Shell" as Field. The default is the system's shell; with a Runner, sh -c.
	Shell *Shell

	// ShellLines specifies when a command without arguments is a shell line. The default, ShellAuto, is when the
	// command is not a program and looks like a line.
	ShellLines ShellMode

	// PTY runs the command on a PTY. It cannot be set with a Runner. By default, standard input is at its end and a
	// pipe takes the output.
	PTY *PTYOptions

	// Limits bounds the resources of the command. It replaces the Limits of the next level: repeat the fields to keep.
	// By default, nothing is limited.
	Limits *Limits

	// Sandbox rewrites the command just before its start, after the policy. If Sandbox fails, Create fails. It cannot
	// be set with a Runner. By default, commands start unchanged.
	Sandbox Sandbox

	// Escalation is how a process tree is ended: each step sends its signal to the whole tree, and the next step
	// follows if the tree still runs after the step's wait. SIGKILL always comes last. A process that still runs 10
	// seconds after SIGKILL, or after the wait of a last step with SIGKILL, counts as a survivor. A non-nil, empty
	// slice means SIGKILL immediately. On Windows every signal but SIGKILL is CTRL_BREAK to the command's process
	// group; a step is skipped, with its wait, if the host has no console; on a PTY the step closes the console. The
	// default is SIGTERM and 5 seconds; with a PTY, SIGHUP and 1 second, as when a terminal's window is closed, because
	// interactive shells ignore SIGTERM, and then SIGTERM and 4 seconds.
	Escalation []EscalationStep

	// Timeout is the maximum run time of the command, after which its process tree is ended. The default is NoTimeout.
	Timeout time.Duration

	// OutputByteLimit is how many bytes of output are kept if the request sets no limit. The default is 1 MiB.
	OutputByteLimit int64

	// HeadBytes is how many bytes of the output's beginning are kept for Terminal.Head, in addition to OutputByteLimit.
	// They count for MaxOutputBytes. A request can ask for more, up to MaxOutputByteLimit. The default is 0.
	HeadBytes int64

	// FollowBytes is the least number of bytes of output kept for Terminal.Follow, even if the agent asked for a lower
	// limit. The default is 64 KiB.
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
func (o CommandOptions) clone(names lookup.Names) CommandOptions {
	if o.Env != nil {
		o.Env = lookup.Once(names, o.Env)
	}
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

// Options configure a Manager. The zero value is ready to use, and nil options mean the zero value.
type Options struct {
	// Commands holds the options of all commands, unless the session or Create sets others.
	Commands CommandOptions

	// CommandsFor, if not nil, returns options of one resolved command, such as a timeout or a PTY, or nil. They
	// override those of the session and of Commands. CommandsFor must not set Dir, Env, Unattended, Shell or
	// ShellLines. It is called before the policies, by the goroutine that creates the terminal, concurrently for
	// several.
	CommandsFor func(SessionID, Command) *CommandOptions

	// MaxOutputByteLimit is the highest output limit in bytes. Higher limits, of requests and of options, are lowered
	// to it. The default is 16 MiB.
	MaxOutputByteLimit int64

	// MaxTerminals is the maximum number of terminals. A terminal counts from its create until its process tree is
	// gone, also after its release. Another create fails with ErrQuota. The default is 4096.
	MaxTerminals int

	// MaxSessionTerminals is the maximum number of terminals of each session. The default is 1024.
	MaxSessionTerminals int

	// MaxOutputBytes bounds the room for output of all terminals together, in bytes. The room of a terminal is its
	// limit and does not depend on how much it has written; a terminal with a PTY has the room twice, and space for its
	// screen. Room is reserved until the release. Another create fails with ErrQuota. The default is 4 GiB: 256
	// terminals with the highest limit.
	MaxOutputBytes int64

	// Cgroup is a cgroup v2 directory; this process must be allowed to create others in it. Each command starts in its
	// own cgroup and is killed with the whole cgroup. A process leaves the cgroup only by writing to cgroup.procs of
	// another one below the directory; run commands as another user or in a sandbox to prevent that. Without a cgroup,
	// a process that cleared its environment, closed the output and left the session is not found. Linux only; on other
	// systems every create fails. The default is to use no cgroup.
	Cgroup string

	// KeepDetached leaves deliberately detached processes running at every end of a terminal: processes in their own
	// session that do not hold the output, such as the server that tmux or gpg-agent starts, or an editor's window. All
	// others still end. KeepDetached needs sessions, and excludes Cgroup and Runner. A sandbox still ends its
	// processes, and journal.Recover ends detached ones after the host died. By default, all processes end.
	KeepDetached bool

	// Journal, if not nil, records each command before its start, until a kill or a release has ended its process tree.
	// In package journal, Dir is a Journal, and Recover ends the processes that a dead host left running. A create
	// fails if the record cannot be written, and a release if it cannot be removed. Managers may share a journal.
	Journal Journal

	// HostReaps indicates that the host's program reaps every child of its process, by wait4(-1), and calls
	// Manager.Reaped for each. Commands then end with the status given to Reaped, where Linux (before 6.15) does not
	// tell it. By default, only this package reaps the processes that it starts. If another part of the program reaps
	// them, that is logged once. A command whose exit status was lost ends with ErrExitLost, and fewer processes of a
	// tree are found. Before Linux 6.9 another process can get a signal if the host reaps a command right before it.
	HostReaps bool

	// RequireSessions makes creates fail with ErrSessionNotFound in sessions that OpenSession has not opened.
	RequireSessions bool

	// Policy decides which commands run, in every session; SessionOptions.Policy and Roots decide too. If nil, all
	// commands run.
	Policy Policy

	// Approve is asked about a command if a policy returns VerdictAsk. It may take as long as a user needs, and only
	// that create waits. ctx is cancelled when the request is cancelled, its connection or session ends, or the Manager
	// closes; later answers have no effect, but Close waits for Approve to return. Approve is called concurrently. If
	// nil, commands with VerdictAsk are denied.
	Approve func(ctx context.Context, q Question) Answer

	// Runner, if not nil, looks up and runs commands instead of the local machine, with the directory, the environment
	// and the limits of the other options and nothing of the local machine's. Sandbox, PTY, Cgroup and KeepDetached
	// cannot be set with it, and the Journal is not called.
	Runner Runner

	// Record, if not nil, puts events on record. It gets each *DecisionEvent before the command starts, from the
	// goroutine of the create, concurrently for several creates. If Record fails or panics, the command does not run
	// and the create fails with ErrInternal, or with ErrCancelled if ctx is done; the error is logged. A denial stays a
	// denial. ctx is cancelled when the request is cancelled, its connection or session ends, or the Manager closes;
	// Record must return then, because the create and Close wait for it. Record gets all other events, and decisions of
	// creates that were already cancelled, in order, from the goroutine of the hooks of Manager.Observe and before
	// them; errors are logged, and ctx ends with the context of a Shutdown. Package audit writes events to a file.
	Record func(ctx context.Context, event Event) error
}

// unattended are the variables for commands that no user answers.
func (o *CommandOptions) unattended() []string { return orElse(o.Unattended, UnattendedVariables()) }

func (o *CommandOptions) escalation() []EscalationStep {
	switch {
	case o.Escalation != nil:
		return o.Escalation
	case o.PTY != nil && !hasSessions: // the only step: the console is closed
		return []EscalationStep{{Signal: syscall.SIGHUP}}
	case o.PTY != nil: // SIGTERM for programs that ignore SIGHUP, such as those that nohup starts
		return []EscalationStep{{syscall.SIGHUP, time.Second}, {syscall.SIGTERM, 4 * time.Second}}
	}
	return []EscalationStep{{Signal: syscall.SIGTERM}}
}

// maxKept bounds the output of each terminal, in bytes, at every value of the options.
const maxKept = 1 << 40

// limits of a terminal's output, in bytes.
type outputLimits struct {
	last int64 // that Output shows
	head int64 // that Head returns
	kept int64 // that the ring buffer keeps, at least
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
		return optionError("Options.Cgroup", "cannot be used with Options.Runner")
	case o.KeepDetached && (!hasSessions || o.Runner != nil || o.Cgroup != ""):
		return optionError("Options.KeepDetached", "is not supported on this system, or with a Cgroup or a Runner")
	}
	return o.Commands.validate("Options.Commands", o.machine())
}

// machine is where commands run.
func (o *Options) machine() machine {
	if o.Runner != nil {
		return runnerMachine{o.Runner}
	}
	return localMachine{pin.NewVerifier()}
}

// validate returns why the options cannot hold where commands run, or nil.
func (o *SessionOptions) validate(where machine) error {
	if o.MaxTerminals < 0 {
		return optionError("SessionOptions.MaxTerminals", "must not be negative")
	}
	return o.Commands.validate("SessionOptions.Commands", where)
}

// validate returns why the options, called level, cannot hold where commands run, or nil.
func (o *CommandOptions) validate(level string, where machine) error {
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
		return optionError(level+".ShellLines", fmt.Sprintf("is not a ShellMode: %d", o.ShellLines))
	}
	if err := where.check(level, o); err != nil {
		return err
	}
	if err := o.PTY.validate(level + ".PTY"); err != nil {
		return err
	}
	if err := checkEscalation(level, o.Escalation); err != nil {
		return err
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
			return optionError(field, "must have a signal and no negative Wait")
		}
	}
	return nil
}

// optionError is the error for an option that cannot hold, which is the host's mistake.
func optionError(field, reason string) *Error {
	return &Error{Kind: ErrInternal, Field: field, Reason: reason}
}

// SessionOptions configure a session; see Manager.OpenSession. The zero value is ready to use, and nil options mean the
// zero value.
type SessionOptions struct {
	// Commands holds the options of this session's commands. They override Options.Commands.
	Commands CommandOptions

	// Roots lists directories, as absolute paths. The working directory of a command must be in one of them.
	// OpenSession resolves symbolic links in them once. Sandboxes allow writes there. If nil, commands may run
	// anywhere; empty but not nil means nowhere.
	Roots []string

	// Policy decides which commands run in this session, in addition to Options.Policy; the strictest decision counts.
	Policy Policy

	// MaxTerminals is the maximum number of terminals of the session. The default is Options.MaxSessionTerminals.
	MaxTerminals int
}

// NoTimeout, as a timeout, lets a command run without limit.
const NoTimeout time.Duration = -1

// HandlerOptions configure a Handler. The zero value is ready to use, and nil options mean the zero value.
type HandlerOptions struct {
	// Next handles all requests and notifications that Handle does not serve: all but terminal/*, and each
	// $/cancel_request that does not name a pending terminal/* request. It is called as jsonrpc2 calls a handler, so
	// nothing else is read while it runs. If nil, requests are answered with -32601 and notifications are dropped.
	Next jsonrpc2.Handler

	// Capabilities are the capabilities that the client advertises in initialize; Handler.Capabilities returns them. If
	// they do not include terminals, every terminal/* request is answered with -32601. If nil, terminals are
	// advertised.
	Capabilities *ClientCapabilities

	// Created, if not nil, is called with each new terminal before the agent gets its id, for example to show live
	// output with Terminal.Follow in a goroutine. It is called by the goroutine that serves the request, concurrently
	// for several, and only that create waits for it. If it panics, the create fails with ErrInternal and its terminal
	// is released; the panic is logged with its stack.
	Created func(*Terminal)

	// TerminalAuth makes Capabilities advertise that a user can sign in to the agent in a terminal
	// (clientCapabilities.auth.terminal). The agent may then offer methods that package signin reads and runs. Set it
	// only if the agent's program can be started in a terminal that a user attends.
	TerminalAuth bool

	// SessionPrefix is added to the session ids of this connection: with "a/", the agent's "session-1" is the Manager's
	// "a/session-1", in OpenSession, policies and events. Agents choose the ids, and two agents may choose the same.
	// Prefixes keep the sessions of connections apart if no prefix begins with another. The agent sees its own ids.
	SessionPrefix SessionID

	// LineLimit is the maximum length of a line of the agent, in bytes, with Handler.Filter. A longer line is skipped
	// and never held in memory. The default is 64 MiB. If LineLimit is negative, every line is skipped.
	LineLimit int64

	// SkippedLines is called, with Handler.Filter, for each line of the agent that is not a JSON-RPC message, for
	// example to show debugging prints. The goroutine that reads calls it and waits for it. A panic is logged with its
	// stack. If nil, slog logs, at level Warn, the length of the line, the reason and, escaped, the first 120 bytes; it
	// logs no bytes of a line that begins like JSON, which may be part of a request with a secret.
	SkippedLines func(SkippedLine)

	// SupportedMethods lists the methods that Next serves. If an agent calls terminal/* although it is not
	// advertised, the error lists them.
	SupportedMethods []string

	// MaxPending is the maximum number of unanswered requests, and about the maximum number of answers that wait for
	// the agent to read. A request beyond it is answered with -32800 and kind "quota", and then nothing more is read
	// until the agent has read that answer. The default is 16384. If MaxPending is negative, every request is refused.
	MaxPending int

	// MaxCreateBytes is the maximum size of the params of a create, as JSON. The default is 4 MiB. If MaxCreateBytes is
	// negative, every create is refused.
	MaxCreateBytes int

	// MaxPendingCreateBytes bounds the memory of all unanswered creates together: their params as JSON, and their lists
	// of arguments and variables. A create beyond it is answered with -32800 and kind "quota". The default is 64 MiB.
	// If MaxPendingCreateBytes is negative, every create is refused.
	MaxPendingCreateBytes int
}

func (o *HandlerOptions) lineLimit() int      { return int(max(0, cmp.Or(o.LineLimit, 64<<20))) }
func (o *HandlerOptions) maxPending() int     { return cmp.Or(o.MaxPending, 16<<10) }
func (o *HandlerOptions) maxCreateBytes() int { return cmp.Or(o.MaxCreateBytes, 4<<20) }

func (o *HandlerOptions) maxPendingCreateBytes() int { return cmp.Or(o.MaxPendingCreateBytes, 64<<20) }
