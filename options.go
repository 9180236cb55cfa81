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

// CommandOptions configure a command. They can be set, in order of precedence, for a single terminal in the call to
// Create, for certain commands by Options.CommandsFor, for a session in SessionOptions, and for all commands in
// Options. If a field is zero, the next level's value is used. If it is zero at every level, the default below applies.
type CommandOptions struct {
	// Dir is the working directory for requests without cwd, and must be an absolute path. The default is the first of
	// the session's Roots, if it has any. Otherwise it is the host's working directory at the time of the request or,
	// with a Runner, the directory chosen by the Runner.
	Dir string

	// Env is the base environment, in the form "NAME=value". Requests add variables to it. If Env is empty but not nil,
	// commands inherit no variables, which leaves no PATH to look them up in. The default is the host's environment at
	// the time of the request or, with a Runner, the Runner's.
	Env []string

	// Unattended lists variables, in the form "NAME=value", that keep pagers, editors and prompts from waiting for a
	// user. They override Env for every command except those on an Attended PTY, and are overridden by the request's
	// variables. If Unattended is empty but not nil, none are set. The default is UnattendedVariables.
	Unattended []string

	// Shell runs shell lines. The zero Shell is the system's. If the shell cannot be found, Create fails with
	// ErrInternal and "CommandOptions.Shell" as Field. The default is the system's shell or, with a Runner, sh -c.
	Shell *Shell

	// ShellLines specifies when a command without arguments is treated as a shell line. The default is ShellAuto: when
	// it is not a program and looks like a line.
	ShellLines ShellMode

	// PTY, if non-nil, runs the command on a PTY. It cannot be set with a Runner. By default, the command reads end of
	// file from its standard input and writes its output to a pipe.
	PTY *PTYOptions

	// Limits bounds the command's resources. It replaces the next level's Limits as a whole, so fields that should
	// still apply have to be repeated. By default, nothing is limited.
	Limits *Limits

	// Sandbox, if non-nil, rewrites the command just before it starts, after the policy has allowed it. If Sandbox
	// fails, Create fails. It cannot be set with a Runner.
	Sandbox Sandbox

	// Escalation lists the steps used to end a process tree. Each step sends its signal to the whole tree, and the next
	// step follows if the tree is still running after the step's wait. SIGKILL always comes last. A process still
	// running 10 seconds after SIGKILL, or after the wait of a last step with SIGKILL, counts as a survivor. If
	// Escalation is empty but not nil, SIGKILL is sent immediately. On Windows, every signal except SIGKILL is
	// CTRL_BREAK to the command's process group. If the host has no console, the step is skipped along with its wait.
	// On a PTY, it closes the console. The default is SIGTERM and 5 seconds. With a PTY it is SIGHUP and 1 second, as
	// when a terminal window is closed, because interactive shells ignore SIGTERM, and then SIGTERM and 4 seconds.
	Escalation []EscalationStep

	// Timeout is how long the command may run before its process tree is ended. The default is NoTimeout.
	Timeout time.Duration

	// OutputByteLimit is the number of bytes of output kept if the request sets no limit. The default is 1 MiB.
	OutputByteLimit int64

	// HeadBytes is the number of bytes of the output's beginning kept for Terminal.Head, in addition to
	// OutputByteLimit. They count towards MaxOutputBytes. A request can ask for more, up to MaxOutputByteLimit. The
	// default is 0.
	HeadBytes int64

	// FollowBytes is the minimum number of bytes of output kept for Terminal.Follow, even if the agent asks for a lower
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

// Options configure a Manager. The zero value is ready to use.
type Options struct {
	// Commands holds the options for all commands, unless they are overridden by a session or in a call to Create.
	Commands CommandOptions

	// CommandsFor, if non-nil, is called with each resolved command and returns its options, such as a timeout or a
	// PTY, or nil. They override those of the session and of Commands, but must not set Dir, Env, Unattended, Shell or
	// ShellLines. It is called before the policies, on the goroutine creating the terminal, and may be called
	// concurrently.
	CommandsFor func(SessionID, Command) *CommandOptions

	// MaxOutputByteLimit is the maximum output limit in bytes. Higher limits, whether they come from requests or
	// options, are clamped to it. The default is 16 MiB.
	MaxOutputByteLimit int64

	// MaxTerminals is the maximum number of terminals, beyond which Create fails with ErrQuota. A terminal counts until
	// its process tree is gone, even if it has been released before. The default is 4096.
	MaxTerminals int

	// MaxSessionTerminals is the maximum number of terminals per session. The default is 1024.
	MaxSessionTerminals int

	// MaxOutputBytes is the maximum space reserved for the output of all terminals, in bytes, beyond which Create fails
	// with ErrQuota. A terminal reserves space for its limit until it is released, no matter how much it has written. A
	// terminal with a PTY reserves twice as much, plus space for its screen. The default is 4 GiB, which is enough for
	// 256 terminals with the highest limit.
	MaxOutputBytes int64

	// Cgroup is a cgroup v2 directory where this process is allowed to create others. Each command then starts in its
	// own cgroup and is killed with the whole cgroup. A process can leave it only by writing to cgroup.procs of another
	// cgroup below the directory, so run commands as another user or in a sandbox to prevent that. Without a cgroup, a
	// process is not found if it has cleared its environment, closed the output and left the session. Cgroups are only
	// supported on Linux. On other systems every create fails. By default, no cgroup is used.
	Cgroup string

	// KeepDetached leaves deliberately detached processes running when a terminal ends: processes in their own session
	// that do not hold the output, such as a server started by tmux or gpg-agent, or an editor's window. All others are
	// ended. KeepDetached needs sessions and cannot be used with Cgroup or Runner. A sandbox still ends its processes,
	// and journal.Recover ends detached ones if the host has died. By default, all processes are ended.
	KeepDetached bool

	// Journal, if non-nil, records each command from before its start until a kill or a release has ended its process
	// tree. Package journal implements one as Dir, and Recover ends processes left running by a dead host. A create
	// fails if the record cannot be written, and a release if it cannot be removed. Managers may share a journal.
	Journal Journal

	// HostReaps indicates that the host's program reaps all of its children with wait4(-1) and calls Manager.Reaped for
	// each. The status passed to Reaped is used where the kernel does not report it (Linux before 6.15). By default,
	// only this package reaps the processes it starts, and it logs once if another part of the program does. If a
	// command's exit status is lost that way, it ends with ErrExitLost, and fewer processes of its tree are found.
	// Before Linux 6.9, a signal can reach another process if the host reaps a command right before it is sent.
	HostReaps bool

	// RequireSessions makes Create fail with ErrSessionNotFound unless the session was opened with OpenSession.
	RequireSessions bool

	// Policy decides which commands may run in any session, in addition to SessionOptions.Policy and Roots. If nil, all
	// commands may run.
	Policy Policy

	// Approve is called to ask about a command if a policy returns VerdictAsk. It may take as long as the user needs,
	// since only that create waits for it. ctx is cancelled when the request is cancelled, when its connection or
	// session ends, or when the Manager closes. A later answer has no effect, but Close still waits for Approve to
	// return. Approve may be called concurrently. If nil, commands with VerdictAsk are denied.
	Approve func(ctx context.Context, q Question) Answer

	// Runner, if non-nil, looks up and runs commands instead of the local machine. It uses the directory, environment
	// and limits of the other options, but none of the local machine's. Sandbox, PTY, Cgroup and KeepDetached cannot be
	// set with it, and the Journal is not called.
	Runner Runner

	// Record, if non-nil, is called to put events on record. It is called with each *DecisionEvent before the command
	// starts, on the goroutine that creates the terminal, and may be called concurrently. If it fails or panics, the
	// command does not run and the create fails with ErrInternal, or with ErrCancelled if ctx is done, and the error is
	// logged. A denied command stays denied. ctx is cancelled when the request is cancelled, its connection or session
	// ends, or the Manager closes. Record must then return, because the create and Close wait for it. All other events,
	// and decisions of creates already cancelled, are passed to Record in order, on the goroutine of the
	// Manager.Observe hooks and before them. Their errors are only logged, and ctx ends with that of a Shutdown.
	// Package audit writes events to a file.
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

// SessionOptions configure a session. The zero value is ready to use. See Manager.OpenSession.
type SessionOptions struct {
	// Commands holds the options for the session's commands. They override Options.Commands.
	Commands CommandOptions

	// Roots lists absolute paths of directories. A command's working directory must be in one of them, and sandboxes
	// allow writes there. Symbolic links in them are resolved once, by OpenSession. If Roots is nil, commands may run
	// anywhere. If empty but not nil, they may run nowhere.
	Roots []string

	// Policy decides which commands may run in the session, along with Options.Policy. The strictest decision counts.
	Policy Policy

	// MaxTerminals is the session's maximum number of terminals. The default is Options.MaxSessionTerminals.
	MaxTerminals int
}

// NoTimeout is a CommandOptions.Timeout that lets a command run for as long as it needs.
const NoTimeout time.Duration = -1

// HandlerOptions configure a Handler. The zero value is ready to use.
type HandlerOptions struct {
	// Next, if non-nil, is called with the requests and notifications that Handle does not serve: all but terminal/*,
	// and each $/cancel_request that does not name a pending terminal/* request. As with any jsonrpc2 handler, no other
	// messages are read while it runs. If nil, requests are answered with -32601 and notifications are dropped.
	Next jsonrpc2.Handler

	// Capabilities are the capabilities advertised in initialize, as returned by Handler.Capabilities. If they do not
	// include terminals, every terminal/* request is answered with -32601. If nil, terminals are advertised.
	Capabilities *ClientCapabilities

	// Created, if non-nil, is called with each new terminal before the agent receives its id, for example to start a
	// goroutine that shows live output with Terminal.Follow. It is called on the goroutine that serves the request or
	// calls Attach, may be called concurrently, and delays only that create. If it panics, the panic is logged with its
	// stack, the create fails with ErrInternal, and the terminal is released.
	Created func(*Terminal)

	// TerminalAuth makes Capabilities advertise that a user can sign in to the agent in a terminal
	// (clientCapabilities.auth.terminal). The agent may then offer sign-in methods, which package signin reads and
	// runs. It should only be set if the agent's program can be started in a terminal attended by a user.
	TerminalAuth bool

	// SessionPrefix is prepended to the session ids of this connection, because two agents may choose the same ids.
	// With the prefix "a/", the agent's "session-1" is "a/session-1" in OpenSession, policies and events, while the
	// agent still sees its own ids. To keep the sessions of connections apart, no prefix should begin with another.
	SessionPrefix SessionID

	// LineLimit is the maximum length of a line sent by the agent, in bytes, with Handler.Filter. Longer lines are
	// skipped and never held in memory. The default is 64 MiB. If LineLimit is negative, every line is skipped.
	LineLimit int64

	// SkippedLines is called by Handler.Filter with each line from the agent other than a JSON-RPC message, such as
	// debugging output. It is called on the reading goroutine, which waits for it. A panic is logged with its stack. If
	// SkippedLines is nil, slog logs the line's length, the reason and its first 120 bytes, escaped, at level Warn. The
	// bytes are omitted if they begin like JSON, since they may be part of a request containing a secret.
	SkippedLines func(SkippedLine)

	// SupportedMethods lists the methods served by Next. They are listed in the error an agent receives for calling
	// terminal/* without it being advertised.
	SupportedMethods []string

	// MaxPending is the maximum number of unanswered requests and, approximately, of answers waiting to be read by the
	// agent. A further request is answered with -32800 and kind "quota", and reading stops until the agent has read
	// that answer. The default is 16384. If MaxPending is negative, every request is refused.
	MaxPending int

	// MaxCreateBytes is the maximum size of a create's params, as JSON. The default is 4 MiB. If MaxCreateBytes is
	// negative, every create is refused.
	MaxCreateBytes int

	// MaxPendingCreateBytes is the maximum memory held by all unanswered creates: their params, as JSON, and their
	// lists of arguments and variables. A further create is answered with -32800 and kind "quota". The default is 64
	// MiB. If MaxPendingCreateBytes is negative, every create is refused.
	MaxPendingCreateBytes int
}

func (o *HandlerOptions) lineLimit() int      { return int(max(0, cmp.Or(o.LineLimit, 64<<20))) }
func (o *HandlerOptions) maxPending() int     { return cmp.Or(o.MaxPending, 16<<10) }
func (o *HandlerOptions) maxCreateBytes() int { return cmp.Or(o.MaxCreateBytes, 4<<20) }

func (o *HandlerOptions) maxPendingCreateBytes() int { return cmp.Or(o.MaxPendingCreateBytes, 64<<20) }
