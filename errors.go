package acpterm

// Errors, and their kinds, which work with errors.Is. handler.go maps kinds to JSON-RPC codes.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/acpterm/acpterm/internal/lookup"
)

// A Kind classifies an Error. It implements the error interface so that it can be passed to errors.Is, as in
// errors.Is(err, acpterm.ErrTerminalNotFound). The agent receives the Kind as "kind" in the error's data.
type Kind string

// The kinds of error.
const (
	// ErrInvalidParams is returned if a request is malformed or unusable, for example if a field has the wrong
	// type or cwd is a relative path. Error.Field names the field.
	ErrInvalidParams Kind = "invalid_params"
	// ErrNotExecutable is returned if the program's file was found but cannot be executed.
	ErrNotExecutable Kind = "not_executable"
	// ErrCommandNotFound is returned if the program cannot be found. Error.Command is the name of the program.
	ErrCommandNotFound Kind = "command_not_found"
	// ErrTerminalNotFound is returned if a terminal does not exist, has been released, or belongs to another session.
	ErrTerminalNotFound Kind = "terminal_not_found"
	// ErrCancelled is returned if the context is done or the agent has cancelled the request.
	ErrCancelled Kind = "cancelled"
	// ErrDenied is returned if a policy or the user has denied the command. Error.Command is the command, and
	// Error.Reason and Error.Rule explain why it was denied.
	ErrDenied Kind = "denied"
	// ErrSessionNotFound is returned if a session is not open. It is returned by AddRoot, by Create if
	// Options.RequireSessions is set, and by any calls to Create still pending when CloseSession is called.
	ErrSessionNotFound Kind = "session_not_found"
	// ErrQuota is returned if a request would exceed a quota. Error.Quota and Error.Limit are its name and value.
	ErrQuota Kind = "quota"
	// ErrClosing is returned after the Manager or Handler has been closed.
	ErrClosing Kind = "closing"
	// ErrSurvivors is returned if processes of the tree are, or may be, running after the last escalation step.
	// Error.PIDs lists those that certainly are. Error.Err describes doubts, such as processes exiting after SIGKILL.
	ErrSurvivors Kind = "survivors"
	// ErrExitLost is returned if a command has exited but its exit status was lost because another part of the host's
	// program ignores SIGCHLD or reaps children that it did not start.
	ErrExitLost Kind = "exit_lost"
	// ErrConnectionLost is returned if Options.Runner has lost its connection. It is not possible to tell how the
	// command exited or whether its process tree still exists. Output received so far can still be read.
	ErrConnectionLost Kind = "connection_lost"
	// ErrAgentGone is returned by Wait if the Handler of an attached terminal was closed, usually because the agent has
	// ended, before the owner reported how the command ended.
	ErrAgentGone Kind = "agent_gone"
	// ErrNotCancellable is returned by Kill if the owner of an attached terminal cannot or will not stop the command.
	// If the owner was asked to stop the command, Error.Err is the error that the owner returned.
	ErrNotCancellable Kind = "not_cancellable"
	// ErrMethodNotFound is returned for methods other than the five terminal methods.
	ErrMethodNotFound Kind = "method_not_found"
	// errInvalidMessage is only sent, for a line of the agent other than a JSON-RPC message.
	errInvalidMessage Kind = "invalid_message"
	// ErrInternal is returned for all other errors, such as failed system calls. Error.Err is the cause.
	ErrInternal Kind = "internal"
)

// Error returns the kind as text.
func (k Kind) Error() string { return strings.ReplaceAll(string(k), "_", " ") }

// An Error describes a failed operation and the reason for the failure. Fields that do not apply are left empty. For
// security reasons, an Error never contains the value of an environment variable. As JSON, it is the data of an error
// sent to the agent.
type Error struct {
	// Op is the operation that failed, such as "create", "wait", "kill", "release" or "open session", or the name of a
	// method such as "terminal/output". Other packages use other operations, such as "start agent" in agentproc.
	Op   string `json:"-"`
	Kind Kind   `json:"kind"`
	// Field is the invalid field of a request, such as "cwd" or "env[2].name". For ErrInternal, it is the invalid
	// option, such as "SessionOptions.Roots[1]", or the limit that cannot be enforced, such as "Limits.Memory".
	Field string `json:"field,omitempty"`
	// Reason describes the cause, such as the reason given by the policy that denied the command.
	Reason string `json:"reason,omitempty"`
	// Rule is the name of the policy rule that denied the command.
	Rule string `json:"rule,omitempty"`
	// Command is the requested command. Its arguments are only included if the command was denied.
	Command string `json:"command,omitempty"`

	SessionID  SessionID  `json:"sessionId,omitempty"`
	TerminalID TerminalID `json:"terminalId,omitempty"`
	PIDs       []int      `json:"pids,omitempty"`

	// Quota is the name of the exceeded quota, as reported to the agent, and Limit is its value. The quotas are
	// "terminals" (Options.MaxTerminals), "session_terminals" (MaxSessionTerminals, SessionOptions.MaxTerminals),
	// "reserved_bytes" (MaxReservedBytes), "events" and "event_bytes" (see Manager.Observe), "pending_requests"
	// (HandlerOptions.MaxPending), "create_bytes" and "pending_create_bytes" (LineLimit), and mcpserver's "questions".
	Quota string `json:"quota,omitempty"`
	Limit int64  `json:"limit,omitempty"`

	// Err is the underlying error, if any, for example one returned by the system or by a context.
	Err error `json:"-"`
}

// Error returns a message that describes the operation, its subject, and the reason for the failure.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("acpterm: ")
	if e.Op != "" {
		b.WriteString(e.Op + ": ")
	}
	switch {
	case e.Field != "":
		b.WriteString(e.Field + ": ")
	case e.Command != "":
		fmt.Fprintf(&b, "%q: ", e.Command)
	case e.TerminalID != "":
		fmt.Fprintf(&b, "terminal %q: ", string(e.TerminalID))
	}
	if e.Reason != "" {
		b.WriteString(e.Reason)
	} else {
		b.WriteString(e.Kind.Error())
	}
	if e.Rule != "" {
		fmt.Fprintf(&b, " (rule %q)", e.Rule)
	}
	if e.Quota != "" {
		fmt.Fprintf(&b, ": %s: at most %d", e.Quota, e.Limit)
	}
	if len(e.PIDs) > 0 {
		fmt.Fprintf(&b, ": processes %v", e.PIDs)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Unwrap returns the kind and the underlying error, if any.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}

// maxErrorText bounds each text of an error on the wire, in bytes: an agent that does not read its answers must not
// make the host keep a copy of each request.
const maxErrorText = 2 << 10

// cut returns e with each text cut to maxErrorText.
func (e *Error) cut() *Error {
	short := *e
	for _, text := range []*string{&short.Op, &short.Field, &short.Reason, &short.Rule, &short.Command} {
		*text = cutText(*text)
	}
	short.SessionID = SessionID(cutText(string(e.SessionID)))
	short.TerminalID = TerminalID(cutText(string(e.TerminalID)))
	return &short
}

func cutText(text string) string {
	if len(text) <= maxErrorText {
		return text
	}
	return strings.ToValidUTF8(text[:maxErrorText], "") + "..."
}

// inOperation adds the operation and the session to an *Error without an operation.
func inOperation(op string, session SessionID, err error) error {
	e, ok := err.(*Error)
	if !ok || e.Op != "" {
		return err
	}
	filled := *e
	filled.Op, filled.SessionID = op, session
	return &filled
}

func invalidField(field, reason string) *Error {
	return &Error{Kind: ErrInvalidParams, Field: field, Reason: reason}
}

// fieldError returns the error for a field that the system does not accept. A lack of descriptors or memory is not the
// request's mistake.
func fieldError(field string, err error) *Error {
	for _, lack := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM} {
		if errors.Is(err, lack) {
			return &Error{Kind: ErrInternal, Reason: "the host is out of descriptors or memory", Err: err}
		}
	}
	return invalidField(field, lookup.Reason(err))
}

// orClosed returns err, or the error for the close that has ended ctx: of the session, the Handler or the Manager.
func orClosed(ctx context.Context, err error) error {
	if closed, ok := context.Cause(ctx).(Kind); ok {
		return &Error{Kind: closed}
	}
	return err
}
