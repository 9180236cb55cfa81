package acpterm

// Errors, and their kinds, which work with errors.Is. handler.go maps kinds to JSON-RPC codes.

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/acpterm/acpterm/internal/lookup"
)

// Kind classifies an Error. It is an error itself, for errors.Is(err, acpterm.ErrTerminalNotFound), and the "kind" in
// the data of an error on the wire.
type Kind string

// The kinds of error.
const (
	// ErrInvalidParams is returned for a malformed or unusable request, such as a field of the wrong type or a relative
	// cwd. Error.Field names the field.
	ErrInvalidParams Kind = "invalid_params"
	// ErrNotExecutable is returned if the file of the command exists but cannot be executed.
	ErrNotExecutable Kind = "not_executable"
	// ErrCommandNotFound is returned if the command names no file. Error.Command is the command.
	ErrCommandNotFound Kind = "command_not_found"
	// ErrTerminalNotFound is returned for an id that does not exist, was released, or belongs to another session.
	ErrTerminalNotFound Kind = "terminal_not_found"
	// ErrCancelled is returned if the context of the call ended or the agent cancelled the request.
	ErrCancelled Kind = "cancelled"
	// ErrDenied is returned if the policy or a user denies the command, Error.Command. Error.Reason and Error.Rule say
	// why.
	ErrDenied Kind = "denied"
	// ErrSessionNotFound is returned for a session that is not open: by Create if Options.RequireSessions is set, by
	// AddRoot, and by creates that were pending when CloseSession was called.
	ErrSessionNotFound Kind = "session_not_found"
	// ErrQuota is returned for a request beyond Error.Quota, whose limit is Error.Limit.
	ErrQuota Kind = "quota"
	// ErrClosing is returned by calls on a closed Manager or Handler.
	ErrClosing Kind = "closing"
	// ErrSurvivors is returned if processes of the tree still run after the last escalation step. Error.PIDs are their
	// PIDs.
	ErrSurvivors Kind = "survivors"
	// ErrExitLost is returned if the exit status of an ended command is lost, because another part of the host's
	// program reaps children that it has not started or ignores SIGCHLD. See Options.HostReaps.
	ErrExitLost Kind = "exit_lost"
	// ErrConnectionLost is returned if the connection of Options.Runner was lost, so that neither the end of the
	// command nor the rest of its process tree is known. The output so far can be read.
	ErrConnectionLost Kind = "connection_lost"
	// ErrNotCancellable is returned by Kill of an attached terminal whose owner does not end the command. Error.Err is
	// the owner's answer, if it was asked.
	ErrNotCancellable Kind = "not_cancellable"
	// ErrMethodNotFound is returned for methods other than the five of terminals.
	ErrMethodNotFound Kind = "method_not_found"
	// errInvalidMessage is only sent, for a line of the agent other than a JSON-RPC message.
	errInvalidMessage Kind = "invalid_message"
	// ErrInternal is returned for all other errors, such as a failed system call. Error.Err is the cause.
	ErrInternal Kind = "internal"
)

// Error returns the kind as text.
func (k Kind) Error() string { return strings.ReplaceAll(string(k), "_", " ") }

// Error is the error of a failed operation. Fields that do not concern the failure are empty. An Error never contains
// the value of an environment variable.
type Error struct {
	// Op is the operation, such as "create", "wait", "kill", "release" or "open session", or a method, such as
	// "terminal/output". Other packages have their own, such as "start agent" of agentproc.
	Op   string
	Kind Kind
	// Field is the wrong field of the request, such as "cwd" or "env[2].name". With ErrInternal it is the host's
	// option, such as "SessionOptions.Roots[1]", or, when the system cannot enforce a limit, "Limits.Memory".
	Field string
	// Reason explains the error in Field, or why a policy denies the command.
	Reason string
	// Rule is the policy's rule that denies the command.
	Rule string
	// Command is the requested command: its name if that cannot be found or executed, with its arguments in a denial.
	Command string

	SessionID  SessionID
	TerminalID TerminalID
	PIDs       []int

	// Quota names the quota that is full, as in the data of an error on the wire: "terminals" (Options.MaxTerminals),
	// "session_terminals" (MaxSessionTerminals, SessionOptions.MaxTerminals), "output_bytes" (MaxOutputBytes), "events"
	// and "event_bytes" (see Manager.Observe), "pending_requests" (HandlerOptions.MaxPending), "create_bytes"
	// (MaxCreateBytes), or "pending_create_bytes" (MaxPendingCreateBytes). Limit is its size.
	Quota string
	Limit int64

	// Err is the cause, such as an error of the system or of a context, or nil.
	Err error
}

// Error returns the operation, the subject and the reason.
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

// Unwrap lets errors.Is find the kind and the cause.
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

// invalidField returns the error for an invalid field of a request.
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
