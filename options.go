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

// CommandOptions specifies how to run a command. It can be passed to Create for a single terminal, returned by
// Options.CommandsFor for certain commands, set in SessionOptions for a session, or set in Options for all commands.
// Each field takes the first non-zero value in this order. If there is none, the default given below applies.
type CommandOptions struct {
	// Dir is the absolute path of the working directory for requests without a cwd. If empty, it defaults to the first
	// of the session's Roots. A session without Roots uses the host's working directory at the time of the request or,
	// with a Runner, a directory chosen by the Runner.
	Dir string

	// Env specifies the base environment, in the form "NAME=value". Requests add their variables to it. If nil, this is
	// the environment of the Runner or, without one, the host's environment at the time of the request. If Env is empty
	// but non-nil, commands inherit no variables, and programs cannot be looked up because PATH is missing.
	Env []string

	// Unattended specifies variables that keep pagers, editors and prompts from waiting for a user, in the form
	// "NAME=value". They override Env, but not the variables of a request, and do not apply to commands with an
	// Attended PTY. If nil, UnattendedVariables is used. To disable this feature, use an empty, non-nil slice.
	Unattended []string

	// Shell specifies the shell that runs shell lines. If nil, it is the system's shell (see the Shell type) or, with a
	// Runner, sh -c. If it cannot be found, Create fails with ErrInternal and Field "CommandOptions.Shell".
	Shell *Shell

	// ShellLines controls whether commands without arguments are run as shell lines. The default is ShellAuto, which
	// does so for commands that look like a shell line and are not the name of a program.
	ShellLines ShellMode

	// PTY, if non-nil, makes the command run on a PTY. It cannot be combined with a Runner. Without a PTY, the
	// command's output goes to a pipe, and reading from its standard input returns end of file.
	PTY *PTYOptions

	// Limits restricts the command's resources, which are unlimited by default. Setting it replaces the Limits of the
	// next level entirely, so any fields that should still apply must be repeated.
	Limits *Limits

	// Sandbox, if non-nil, confines the command. It is called once the policy has allowed the command, just before the
	// start, and may rewrite the command. If it fails, Create fails. It cannot be combined with a Runner.
	Sandbox Sandbox

	// Escalation lists the steps taken to terminate a process tree. Each step sends its signal to the whole tree, and
	// the next one follows if the tree is still running after the step's wait. The last step is always SIGKILL.
	// Processes still running 10 seconds later, or after the Wait given for SIGKILL, are survivors. The default is
	// SIGTERM with a wait of 5 seconds. With a PTY, it is SIGHUP with 1 second, as if the terminal window was closed,
	// because interactive shells ignore SIGTERM, and then SIGTERM with 4 seconds. If Escalation is empty but non-nil,
	// SIGKILL is sent immediately. On Windows, every signal except SIGKILL is a CTRL_BREAK to the command's process
	// group. If the host has no console, the step is skipped without waiting. On a PTY, it closes the console.
	Escalation []EscalationStep

	// Timeout is the maximum time a command may run before its tree is terminated. The default is NoTimeout.
	Timeout time.Duration

	// OutputByteLimit is the number of bytes of output to keep for requests without a limit. The default is 1 MiB.
	OutputByteLimit int64

	// HeadBytes is the number of bytes to keep from the start of the output, in addition to OutputByteLimit, for
	// Terminal.Head to return. It counts towards MaxOutputBytes. The default is 0, but requests may ask for more, up to
	// MaxOutputByteLimit.
	HeadBytes int64

	// FollowBytes is the minimum number of bytes of output to keep for Terminal.Follow, even if the agent requests a
	// lower limit. The default is 64 KiB.
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

// Options configures a Manager. The zero value is ready to use.
type Options struct {
	// Commands specifies the default options for all commands. Sessions and terminals may override them.
	Commands CommandOptions

	// CommandsFor, if non-nil, may return options for individual commands, such as a timeout or a PTY. It is called
	// with each resolved command before any policies are consulted, on the goroutine creating the terminal, and
	// possibly concurrently. The options override those of the session and of Commands. They must not include Dir, Env,
	// Unattended, Shell or ShellLines.
	CommandsFor func(SessionID, Command) *CommandOptions

	// MaxOutputByteLimit is the maximum number of bytes of output to keep per terminal. Higher limits in requests and
	// options are reduced to it. The default is 16 MiB.
	MaxOutputByteLimit int64

	// MaxTerminals is the maximum number of terminals. Released terminals count until their process trees are gone.
	// Once the maximum is reached, Create fails with ErrQuota. The default is 4096.
	MaxTerminals int

	// MaxSessionTerminals is the maximum number of terminals per session. The default is 1024.
	MaxSessionTerminals int

	// MaxOutputBytes is the maximum memory reserved for the output of all terminals, in bytes, beyond which Create
	// fails with ErrQuota. Until it is released, each terminal reserves as much as its limit, no matter how much it has
	// written, and with a PTY twice as much, plus memory for the screen. The default is 4 GiB, which is enough for 256
	// terminals with the highest limit.
	MaxOutputBytes int64

	// Cgroup is a cgroup v2 directory in which this process may create others. If set, each command runs in its own
	// cgroup, and all processes in it are killed together. The only way for a process to escape is to write to
	// cgroup.procs of another cgroup below the directory, which can be prevented by running commands as another user or
	// in a sandbox. Without a cgroup, a process cannot be found if it clears its environment, closes the output and
	// leaves the session. By default, no cgroup is used. On systems other than Linux, setting Cgroup makes Create fail.
	Cgroup string

	// KeepDetached leaves deliberately detached processes running when a process tree is terminated. These are
	// processes in their own session that do not hold the output open, such as the servers of tmux and gpg-agent, or an
	// editor's window. Sandboxes still terminate them, as does journal.Recover if the host has died. KeepDetached is
	// not supported on Windows, nor with Cgroup or Runner. By default, all processes are terminated.
	KeepDetached bool

	// Journal, if non-nil, records each command before it starts and removes the record once a kill or a release has
	// terminated its tree. If the record cannot be written, Create fails; if it cannot be removed, the release fails.
	// Managers may share a Journal. Package journal provides one, and can clean up after a crashed host.
	Journal Journal

	// HostReaps indicates that the host reaps all of its children with wait4(-1) and calls Manager.Reaped for each.
	// This is how the Manager learns the exit status if the kernel does not report it (before Linux 6.15). By default,
	// this package expects to be the only one reaping the processes it starts, and logs once if it is not.
	// Terminal.Wait then returns ErrExitLost if the exit status was lost, and fewer processes of the tree are found.
	// Before Linux 6.9, a signal can reach the wrong process if the host reaps a command right before it is sent.
	HostReaps bool

	// RequireSessions causes Create to return ErrSessionNotFound for sessions not opened with OpenSession.
	RequireSessions bool

	// Policy decides which commands may run, in all sessions. If nil, commands are only restricted by SessionOptions.
	Policy Policy

	// Approve is called when a policy returns VerdictAsk, and typically asks the user whether to run the command. It
	// can take as long as the user needs, because only the call to Create waits for it. ctx is cancelled with the
	// request and when the connection, session or Manager is closed. A later answer has no effect, but Close still
	// waits for it. Approve may be called concurrently. If it is nil, such commands are denied.
	Approve func(ctx context.Context, q Question) Answer

	// Runner, if non-nil, looks up and runs commands elsewhere, for example in a container. The directory, environment
	// and limits specified in the options still apply, but nothing is inherited from the local machine, and commands
	// are not recorded in the Journal. Runner cannot be combined with Sandbox, PTY, Cgroup or KeepDetached.
	Runner Runner

	// Record, if non-nil, is called with every event. Use it to keep an audit log, for example with package audit.
	// Record is called with each *DecisionEvent before the command starts, on the goroutine creating the terminal, and
	// may be called concurrently. If it fails or panics, the error is logged, the command is not run, and Create fails
	// with ErrInternal, or with ErrCancelled if ctx is done. Denied commands remain denied. ctx is cancelled with the
	// request and when the connection, session or Manager is closed. Record should then return, since Create and Close
	// wait for it.
	//
	// All other events, and decisions on creates already cancelled, are passed to Record in order, on the goroutine of
	// the Manager.Observe hooks and before them. Their errors are only logged, and ctx is cancelled with that of a
	// Shutdown.
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

// SessionOptions specifies options for a session opened by Manager.OpenSession. The zero value is ready to use.
type SessionOptions struct {
	// Commands specifies the options for the session's commands. They override Options.Commands.
	Commands CommandOptions

	// Roots lists the directories in or below which commands may run, as absolute paths. OpenSession resolves their
	// symbolic links once. Requests with any other working directory are refused, and sandboxes allow writing to the
	// roots. If Roots is nil, commands may run anywhere. If it is empty but non-nil, no command may run.
	Roots []string

	// Policy decides which commands may run in the session. If Options.Policy is also set, the stricter decision wins.
	Policy Policy

	// MaxTerminals is the maximum number of terminals in the session. The default is Options.MaxSessionTerminals.
	MaxTerminals int
}

// NoTimeout disables CommandOptions.Timeout, so the command can run indefinitely.
const NoTimeout time.Duration = -1

// HandlerOptions configures a Handler. The zero value is ready to use.
type HandlerOptions struct {
	// Next handles all messages not handled by Handle, which are those other than terminal/* and the cancellation of a
	// pending terminal/* request using $/cancel_request. As with any jsonrpc2 handler, no messages are read until it
	// returns. If Next is nil, requests fail with -32601 and notifications are ignored.
	Next jsonrpc2.Handler

	// Capabilities is the value returned by Handler.Capabilities. If nil, terminals are advertised. If it does not
	// include terminals, all terminal/* requests fail with -32601.
	Capabilities *ClientCapabilities

	// Created, if non-nil, is called with each new terminal before the agent receives its id. Use it to start a
	// goroutine that shows live output with Terminal.Follow, for example. It is called on the goroutine that serves the
	// request or calls Attach, which waits for it to return, and may be called concurrently. If it panics, the panic is
	// logged with its stack, the request fails with ErrInternal, and the terminal is released.
	Created func(*Terminal)

	// TerminalAuth controls whether Capabilities advertises that users can sign in to the agent in a terminal
	// (clientCapabilities.auth.terminal). The agent may then offer sign-in methods for package signin to run. Set it
	// only if the agent's program can be started in a terminal attended by a user.
	TerminalAuth bool

	// SessionPrefix is prepended to session ids received on this connection, to keep apart agents that choose the same
	// ids. With the prefix "a/", for example, the session that the agent calls "session-1" is "a/session-1" to
	// OpenSession, policies and events. No prefix should be a prefix of another.
	SessionPrefix SessionID

	// LineLimit is the maximum length in bytes of a line read by Handler.Filter. Longer lines are skipped without being
	// read into memory. The default is 64 MiB. If negative, all lines are skipped.
	LineLimit int64

	// SkippedLines is called by Handler.Filter with each line that is not a JSON-RPC message, such as debugging output.
	// It is called on the goroutine reading from the connection, which waits for it to return. A panic is logged with
	// its stack. If nil, slog logs the line's length, the reason and its first 120 bytes, escaped, at level Warn. The
	// bytes are omitted if they look like JSON, since they may be part of a request containing a secret.
	SkippedLines func(SkippedLine)

	// SupportedMethods lists the methods supported by Next. It is reported to agents if terminals are not advertised.
	SupportedMethods []string

	// MaxPending is the maximum number of pending requests. A request counts (approximately) until the agent has read
	// its response. Any request beyond the maximum fails with -32800 and kind "quota", and no more are read until the
	// agent has read that response. The default is 16384. If negative, all requests are refused.
	MaxPending int

	// MaxCreateBytes is the maximum size of the JSON params of a create request. The default is 4 MiB. If negative, all
	// create requests are refused.
	MaxCreateBytes int

	// MaxPendingCreateBytes is the maximum memory used by pending create requests for their JSON params and their lists
	// of arguments and variables. Requests that would exceed it fail with -32800 and kind "quota". The default is 64
	// MiB. If negative, all create requests are refused.
	MaxPendingCreateBytes int
}

func (o *HandlerOptions) lineLimit() int      { return int(max(0, cmp.Or(o.LineLimit, 64<<20))) }
func (o *HandlerOptions) maxPending() int     { return cmp.Or(o.MaxPending, 16<<10) }
func (o *HandlerOptions) maxCreateBytes() int { return cmp.Or(o.MaxCreateBytes, 4<<20) }

func (o *HandlerOptions) maxPendingCreateBytes() int { return cmp.Or(o.MaxPendingCreateBytes, 64<<20) }
