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
// Each field takes the first non-zero value found in this order, or else the default given below.
type CommandOptions struct {
	// Dir is the absolute path of the working directory for requests that do not specify a cwd. By default, it is the
	// first of the session's Roots, even if Options.Commands.Dir is set. If there are no Roots, it is the host's
	// working directory at the time of the request or, if there is a Runner, one chosen by the Runner.
	Dir string

	// Env specifies the base environment, in the form "NAME=value", to which requests add their own variables. If Env
	// is nil, the Runner's environment is used or, if there is no Runner, the host's at the time of the request. If Env
	// is empty but non-nil, commands do not inherit any variables, so programs cannot be found because PATH is not set.
	// Regardless of Env, commands get PWD, which is their directory (except on Windows), and ACPTERM_TERMINAL.
	Env []string

	// Unattended specifies variables that keep pagers, editors and prompts from waiting for a user, in the form
	// "NAME=value". They override Env, but not the variables of a request, and are not set if a command has an Attended
	// PTY. To set no variables, use an empty, non-nil slice.
	//
	// By default, PAGER, GIT_PAGER, EDITOR and VISUAL are cat, GIT_EDITOR prints all lines but comments, and
	// GIT_TERMINAL_PROMPT is 0. The others do not override Env: PYTHONUNBUFFERED is 1 and, without a PTY, NO_COLOR is
	// 1, unless FORCE_COLOR or CLICOLOR_FORCE is set, and TERM is dumb, unless Env has another TERM than this process.
	Unattended []string

	// Shell specifies the shell used to run shell lines. If Shell is nil, the system's shell is used (see the Shell
	// type) or, if there is a Runner, sh -c. If the shell cannot be found, Create fails with ErrInternal and Field
	// "CommandOptions.Shell".
	Shell *Shell

	// ShellLines controls whether commands without arguments are run as shell lines. The default is ShellAuto.
	ShellLines ShellMode

	// PTY, if non-nil, specifies that the command runs on a PTY. A Runner must be a PTYRunner. If PTY is nil, the
	// command writes its output to a pipe, and reading from its standard input returns end of file.
	PTY *PTYOptions

	// Stdin, if non-nil, specifies the standard input of a command without a PTY, which otherwise is at end of file. It
	// can only be passed to Create, so it never applies to a terminal that an agent has requested. It replaces the PTY
	// of the other levels. A Runner must be a StdinRunner.
	Stdin *StdinOptions

	// Limits restricts the command's resources, which are unlimited by default. Setting Limits replaces the Limits of
	// the next level entirely, so any fields that should still apply must be repeated.
	Limits *Limits

	// Sandbox, if non-nil, confines the command once the policies have allowed it. It cannot be combined with a Runner.
	Sandbox Sandbox

	// Escalation lists the steps taken to terminate a process tree, until it has exited. The last step is always
	// SIGKILL, even if it is not in the list.
	//
	// The default is to send SIGTERM and wait for 5 seconds. On a PTY, since interactive shells ignore SIGTERM, the
	// default is to send SIGHUP, as if the terminal window had been closed, and wait for 1 second, and then to send
	// SIGTERM and wait for 4 seconds. If Escalation is empty but non-nil, SIGKILL is sent immediately.
	//
	// On Windows, every signal except SIGKILL is sent as a CTRL_BREAK to the command's process group. If the host does
	// not have a console, the step is skipped without waiting. On a PTY, the only default step closes the console.
	Escalation []EscalationStep

	// Timeout is the maximum time a command may run before its process tree is terminated. By default, or if Timeout is
	// negative, there is no maximum.
	Timeout time.Duration

	// IdleTimeout is how long a command may be silent and idle before its process tree is terminated: no output, and
	// less than 1 % of a processor used by the tree. A command that waits for input is idle. The tree ends up to a
	// quarter of the time late. By default, or if IdleTimeout is negative, there is no maximum. It is supported on
	// Linux and Windows, and has no effect while /proc cannot be read. If a Runner's Process cannot list processes,
	// Create fails and ends it.
	IdleTimeout time.Duration

	// OutputByteLimit is the number of bytes of output to keep if a request does not set a limit. The default is 1 MiB.
	OutputByteLimit int64

	// FollowBytes is the minimum number of bytes of output to keep for Terminal.Follow, even if the agent requests a
	// lower limit or MaxOutputByteLimit is lower. The default is 64 KiB.
	FollowBytes int64

	// PlainOutput removes escape sequences, such as colours, from the text that agents read (Terminal.Output and Head,
	// see display.StripANSI), whose limit and offsets then count the remaining bytes. Terminal.Follow still returns all
	// bytes, so a user sees the colours. On a PTY, agents always read plain text. The option is set if any level sets
	// it.
	PlainOutput bool
}

// orElse returns the options with those of the next level where they are zero.
func (o CommandOptions) orElse(next CommandOptions) CommandOptions {
	if o.Sandbox == nil {
		o.Sandbox = next.Sandbox
	}
	if o.Stdin != nil {
		next.PTY = nil
	}
	return CommandOptions{
		Dir:             cmp.Or(o.Dir, next.Dir),
		Env:             orElse(o.Env, next.Env),
		Unattended:      orElse(o.Unattended, next.Unattended),
		Shell:           cmp.Or(o.Shell, next.Shell),
		ShellLines:      cmp.Or(o.ShellLines, next.ShellLines),
		PTY:             cmp.Or(o.PTY, next.PTY),
		Stdin:           cmp.Or(o.Stdin, next.Stdin),
		Limits:          cmp.Or(o.Limits, next.Limits),
		Sandbox:         o.Sandbox,
		Escalation:      orElse(o.Escalation, next.Escalation),
		Timeout:         cmp.Or(o.Timeout, next.Timeout),
		IdleTimeout:     cmp.Or(o.IdleTimeout, next.IdleTimeout),
		OutputByteLimit: cmp.Or(o.OutputByteLimit, next.OutputByteLimit),
		FollowBytes:     cmp.Or(o.FollowBytes, next.FollowBytes),
		PlainOutput:     o.PlainOutput || next.PlainOutput,
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
	o.PTY, o.Stdin, o.Limits = copyOf(o.PTY), copyOf(o.Stdin), copyOf(o.Limits)
	return o
}

// Options configures a Manager. The zero value is ready to use.
type Options struct {
	// Commands specifies the default options for all commands, which sessions and terminals may override.
	Commands CommandOptions

	// CommandsFor, if non-nil, may return options for an individual command, such as a timeout or a PTY. It is called
	// with each resolved command before any policies are consulted, on the goroutine that is creating the terminal, and
	// may be called concurrently. The options it returns override those of the session and of Commands, but must not
	// include Dir, Env, Unattended, Shell, ShellLines or Stdin. NewManager does not call it, so invalid options are
	// errors of Create; package acptermtest finds them in tests.
	CommandsFor func(SessionID, Command) *CommandOptions

	// MaxOutputByteLimit is the maximum number of bytes of output to keep per terminal. If a request or an option
	// specifies a higher limit, MaxOutputByteLimit is used instead. The default is 16 MiB.
	MaxOutputByteLimit int64

	// MaxTerminals is the maximum number of terminals. A released terminal counts until its process tree is gone. If
	// the maximum has been reached, Create fails with ErrQuota. The default is 4096.
	MaxTerminals int

	// MaxSessionTerminals is the maximum number of terminals per session. The default is 1024.
	MaxSessionTerminals int

	// MaxKept is the maximum number of terminals kept because of HandlerOptions.KeepOnClose, in all sessions together.
	// The default is 64. Kept terminals also use at most half of MaxTerminals and MaxReservedBytes, so that an agent
	// cannot fill the Manager by connecting again and again. If a Handler has more terminals, it keeps running ones
	// before ended ones, and the newest first, and releases the others. Terminals kept earlier are not affected.
	MaxKept int

	// MaxReservedBytes is the maximum amount of memory, in bytes, that can be reserved for the output of all terminals.
	// If a new terminal would exceed it, Create fails with ErrQuota. Until a terminal is released, it reserves as much
	// memory as its limit allows, or twice as much plus memory for the screen if it has a PTY, regardless of how much
	// has been written. The default is 4 GiB, which is enough for 256 terminals with the highest limit.
	MaxReservedBytes int64

	// Cgroup is a cgroup v2 directory in which this process may create other cgroups. If set, each command runs in its
	// own cgroup, and all processes in it are killed together. The only way for a process to escape is to write to
	// cgroup.procs of another cgroup below the directory, which can be prevented by running commands as another user or
	// in a sandbox. By default, no cgroup is used, and a process cannot be found if it clears its environment, closes
	// the output and leaves the session. On systems other than Linux, Create fails if Cgroup is set.
	Cgroup string

	// KeepDetached leaves deliberately detached processes running when a tree is terminated. A process is detached if
	// it is in its own session and does not hold the output open, such as the server of tmux or gpg-agent, or an
	// editor's window. Sandboxes still terminate detached processes, as does journal.Recover if the host has died.
	// KeepDetached is not supported on Windows or with Cgroup or Runner. By default, all processes are terminated.
	KeepDetached bool

	// Journal, if non-nil, gets an entry for each command before it starts, which is removed once a kill, release or
	// timeout has ended its tree. Several Managers may share a Journal. Package journal provides one that can also
	// clean up after a crashed host.
	Journal Journal

	// RequireSessions causes Create to return ErrSessionNotFound if the session has not been opened with OpenSession.
	RequireSessions bool

	// Policy decides which commands may run in any session. If nil, commands are only restricted by SessionOptions.
	Policy Policy

	// Approve is called when a policy returns VerdictAsk, typically to ask the user whether to run the command. It may
	// take as long as the user needs, since only the call to Create waits for it. ctx is cancelled along with the
	// request and when the connection, session or Manager is closed. An answer given after that is ignored, but Close
	// still waits for Approve to return. Approve may be called concurrently. If Approve is nil, the command is denied.
	Approve func(ctx context.Context, q Question) Answer

	// Runner, if non-nil, looks up and runs commands somewhere other than the local machine, such as in a container.
	// The directory, environment and limits in the options still apply, but commands are not recorded in the Journal.
	// Runner cannot be used with Sandbox, Cgroup or KeepDetached. For PTY and Stdin, see PTYRunner and StdinRunner.
	Runner Runner

	// Record, if non-nil, is called with every event. It can be used to keep an audit log, for example with package
	// audit. Each *DecisionEvent is recorded before the command starts, on the goroutine that is creating the terminal,
	// so Record may be called concurrently. If Record returns an error or panics, the error is logged, the command is
	// not run, and Create fails with ErrInternal, or with ErrCancelled if ctx is done. A denied command remains denied.
	// ctx is cancelled along with the request and when the connection, session or Manager is closed. When that happens,
	// Record should return, because Create and Close wait for it.
	//
	// All other events, as well as decisions on creates that were already cancelled, are passed to Record in order, on
	// the goroutine that calls the Manager.Observe hooks and before those hooks. For these events, errors are only
	// logged, and ctx is cancelled when the ctx passed to Shutdown is.
	Record func(ctx context.Context, event Event) error
}

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
		head: min(head, most),
		kept: max(limit, min(cmp.Or(c.FollowBytes, 64<<10), maxKept)),
	}
}

func (o *Options) maxTerminals() int        { return cmp.Or(o.MaxTerminals, 4096) }
func (o *Options) maxSessionTerminals() int { return cmp.Or(o.MaxSessionTerminals, 1024) }
func (o *Options) maxKept() int             { return min(cmp.Or(o.MaxKept, 64), o.maxTerminals()/2) }
func (o *Options) maxReservedBytes() int64  { return cmp.Or(o.MaxReservedBytes, 4<<30) }

// validate returns why the options cannot hold, or nil.
func (o *Options) validate() error {
	for _, number := range []struct {
		field string
		value int64
	}{
		{"MaxOutputByteLimit", o.MaxOutputByteLimit}, {"MaxTerminals", int64(o.MaxTerminals)},
		{"MaxSessionTerminals", int64(o.MaxSessionTerminals)}, {"MaxReservedBytes", o.MaxReservedBytes},
		{"MaxKept", int64(o.MaxKept)},
	} {
		if number.value < 0 {
			return optionError("Options."+number.field, "must not be negative")
		}
	}
	switch {
	case o.Runner != nil && o.Cgroup != "":
		return optionError("Options.Cgroup", "cannot be used with Options.Runner")
	case o.Commands.Stdin != nil:
		return optionError("Options.Commands.Stdin", onlyCreate)
	case o.KeepDetached && (!hasSessions || o.Runner != nil || o.Cgroup != ""):
		return optionError("Options.KeepDetached", "is not supported on this system, or with a Cgroup or a Runner")
	}
	return o.Commands.validate("Options.Commands", o.machine())
}

const onlyCreate = "can only be passed to Create, for one terminal"

// machine is where commands run.
func (o *Options) machine() machine {
	if o.Runner != nil {
		return runnerMachine{o.Runner}
	}
	return localMachine{pin.NewVerifier()}
}

// validate returns why the options cannot hold where commands run, or nil.
func (o *SessionOptions) validate(where machine) error {
	switch {
	case o.MaxTerminals < 0:
		return optionError("SessionOptions.MaxTerminals", "must not be negative")
	case o.Commands.Stdin != nil:
		return optionError("SessionOptions.Commands.Stdin", onlyCreate)
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
	case o.FollowBytes < 0:
		return optionError(level+".FollowBytes", "must not be negative")
	case o.ShellLines < ShellAuto || o.ShellLines > ShellAlways:
		return optionError(level+".ShellLines", fmt.Sprintf("is not a ShellMode: %d", o.ShellLines))
	}
	if err := where.check(level, o); err != nil {
		return err
	}
	if o.Stdin != nil && o.PTY != nil {
		return optionError(level+".Stdin", "cannot be used with a PTY")
	}
	if err := o.PTY.validate(level + ".PTY"); err != nil {
		return err
	}
	for i, step := range o.Escalation {
		if step.Signal <= 0 || step.Wait < 0 {
			field := fmt.Sprintf("%s.Escalation[%d]", level, i)
			return optionError(field, "must have a signal and no negative Wait")
		}
	}
	if o.Limits == nil {
		return nil
	}
	_, err := o.Limits.asked(level + ".")
	return err
}

// optionError is the error for an option that cannot hold, which is the host's mistake.
func optionError(field, reason string) *Error {
	return &Error{Kind: ErrInternal, Field: field, Reason: reason}
}

// SessionOptions specifies options for a session opened by Manager.OpenSession. The zero value is ready to use.
type SessionOptions struct {
	// Commands specifies the options for the session's commands, which override Options.Commands.
	Commands CommandOptions

	// Roots lists the absolute paths of the directories in or below which commands may run. OpenSession resolves their
	// symbolic links once. Requests for any other working directory are refused, and sandboxes allow commands to write
	// to the roots. If Roots is nil, commands may run anywhere. If Roots is empty but non-nil, no command may run.
	Roots []string

	// Policy decides which commands may run in the session. If Options.Policy is also set, the stricter decision wins.
	Policy Policy

	// MaxTerminals is the maximum number of terminals in the session. The default is Options.MaxSessionTerminals.
	MaxTerminals int
}

// HandlerOptions configures a Handler. The zero value is ready to use.
type HandlerOptions struct {
	// Next handles all messages that Handle does not handle itself, which means everything except terminal/* and
	// $/cancel_request for a pending terminal/* request. As with any jsonrpc2 handler, no further messages are read
	// until Next returns. If Next is nil, requests fail with -32601 and notifications are ignored.
	Next jsonrpc2.Handler

	// Capabilities is the value returned by Handler.Capabilities. If nil, terminals are advertised. If Capabilities
	// does not include terminals, all terminal/* requests fail with -32601.
	Capabilities *ClientCapabilities

	// Created, if non-nil, is called with each new terminal before the agent receives the terminal's id. For example,
	// it may start a goroutine that shows live output using Terminal.Follow. Created is called on the goroutine that
	// serves the request or calls Attach, which blocks until it returns, and may be called concurrently. If Created
	// panics, the panic is logged with a stack trace, the request fails with ErrInternal, and the terminal is released.
	Created func(*Terminal)

	// SessionPrefix is prepended to the session ids received on this connection, to distinguish between agents that
	// choose the same ids. For example, if the prefix is "a/", the session that the agent calls "session-1" is known to
	// OpenSession, policies and events as "a/session-1". No prefix should begin with another prefix.
	SessionPrefix SessionID

	// KeepOnClose is how long the Manager keeps terminals after the Handler was closed, for example because the
	// connection was lost, so that Handler.TakeOver can continue them on the next connection. Then they are released.
	// Meanwhile, their commands run, they count towards all quotas, and methods of the Manager such as Release reach
	// them, but no requests do. Terminals from Attach, those whose create has not been answered, and those that exceed
	// Options.MaxKept are not kept. If KeepOnClose is zero or negative, Close releases all terminals.
	KeepOnClose time.Duration

	// LineLimit is the maximum length in bytes of a line read by Handler.Filter. Longer lines are skipped without being
	// read into memory. The default is 64 MiB. If LineLimit is negative, all lines are skipped.
	//
	// All pending create requests together may use as much memory as LineLimit, for their params and their lists of
	// arguments and variables, but at least 4 MiB, which is the maximum size of the params of each. A request that
	// would exceed either maximum fails with -32800 and kind "quota".
	LineLimit int64

	// SkippedLines is called by Handler.Filter with each line that is not a JSON-RPC message, such as debugging output.
	// text is the line without its newline, which is only valid until SkippedLines returns. If the line is longer than
	// LineLimit, text is truncated to 64 KiB or, if that is lower, to LineLimit; size is the length of the whole line.
	// reason follows the words "the line", as in "is not JSON". The goroutine reading from the connection blocks until
	// SkippedLines returns. If it panics, the panic is logged with a stack trace.
	//
	// If nil, slog logs the line's length, the reason and its first 120 bytes, escaped, at level Warn. The bytes are
	// omitted if they look like JSON, since they may be part of a request containing a secret.
	SkippedLines func(text []byte, size int64, reason string)

	// MaxPending is the maximum number of pending requests. A request is pending until (approximately) the agent has
	// read its response. A request beyond the maximum fails with -32800 and kind "quota", and no others are read until
	// the agent has read that response. The default is 16384. If MaxPending is negative, all requests are refused.
	MaxPending int
}

// maxCreateBytes bounds the params of a create.
const maxCreateBytes = 4 << 20

func (o *HandlerOptions) lineLimit() int  { return int(max(0, cmp.Or(o.LineLimit, 64<<20))) }
func (o *HandlerOptions) maxPending() int { return cmp.Or(o.MaxPending, 16<<10) }
