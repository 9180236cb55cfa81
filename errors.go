package acpterm

// The errors that a caller can test for, by kind (errors.Is) and by their fields (errors.As). handler.go has the table
// that maps kinds to JSON-RPC codes.

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/acpterm/acpterm/internal/lookup"
)

// Kind says what is wrong. It is an error itself, so that errors.Is(err, acpterm.ErrTerminalNotFound)
// reads as usual, and it is the "kind" in the data of an error on the wire.
type Kind string

// The kinds of error.
const (
	// ErrInvalidParams is a request that is malformed or cannot be carried out: a field of the wrong
	// type, a cwd that is relative or is not a directory. Error.Field names the field.
	ErrInvalidParams Kind = "invalid_params"
	// ErrNotExecutable is a command that names a file which exists and cannot be executed.
	ErrNotExecutable Kind = "not_executable"
	// ErrCommandNotFound is a command that names no file. Error.Command is the command.
	ErrCommandNotFound Kind = "command_not_found"
	// ErrTerminalNotFound is an id that does not exist, was released, or is another session's.
	ErrTerminalNotFound Kind = "terminal_not_found"
	// ErrCancelled is a call whose context ended, or whose request the agent cancelled.
	ErrCancelled Kind = "cancelled"
	// ErrDenied is a command that the policy or a person's answer denies. Error.Command is the command, Error.Reason
	// says why, and Error.Rule by which rule.
	ErrDenied Kind = "denied"
	// ErrSessionNotFound is a session that was not opened, where Options.RequireSessions asks for that.
	ErrSessionNotFound Kind = "session_not_found"
	// ErrQuota is a request beyond what the options allow. Error.Quota says which, and Error.Limit how much.
	ErrQuota Kind = "quota"
	// ErrClosing is a call on a manager or a handler that was closed.
	ErrClosing Kind = "closing"
	// ErrSurvivors is a tree of which processes still run after the last step of the escalation table. Error.PIDs are
	// their numbers.
	ErrSurvivors Kind = "survivors"
	// ErrExitLost is a command that has ended, and whose exit status is lost: another part of the host's program reaps
	// children that it has not started, or ignores SIGCHLD. See Options.HostReaps.
	ErrExitLost Kind = "exit_lost"
	// ErrConnectionLost is a command of Options.Runner of which nothing is known any more, neither its end nor what is
	// left of its tree: the connection to what runs it was lost. Its output so far can be read.
	ErrConnectionLost Kind = "connection_lost"
	// ErrNotCancellable is returned by Kill of an attached terminal whose owner does not end the command. Error.Err is
	// the owner's answer, if it was asked.
	ErrNotCancellable Kind = "not_cancellable"
	// ErrMethodNotFound is a method that is not one of the five.
	ErrMethodNotFound Kind = "method_not_found"
	// ErrInvalidMessage is a line that is no JSON-RPC message. It is in the data of answers alone.
	ErrInvalidMessage Kind = "invalid_message"
	// ErrInternal is everything else: the system refused something. Error.Err says what.
	ErrInternal Kind = "internal"
)

// Quota names something that is bounded; it is "quota" in the data of an error on the wire.
type Quota string

// The quotas, and the options that set them.
const (
	// QuotaTerminals is Options.MaxTerminals.
	QuotaTerminals Quota = "terminals"
	// QuotaSessionTerminals is Options.MaxSessionTerminals or SessionOptions.MaxTerminals.
	QuotaSessionTerminals Quota = "session_terminals"
	// QuotaOutputBytes is Options.MaxOutputBytes.
	QuotaOutputBytes Quota = "output_bytes"
	// QuotaEvents is how many events may wait for the hooks of Manager.Observe: 10,000.
	QuotaEvents Quota = "events"
	// QuotaEventBytes is how many bytes of commands and decisions those events may have: 64 MiB.
	QuotaEventBytes Quota = "event_bytes"
	// QuotaPendingRequests is HandlerOptions.MaxPending.
	QuotaPendingRequests Quota = "pending_requests"
	// QuotaCreateBytes is HandlerOptions.MaxCreateBytes.
	QuotaCreateBytes Quota = "create_bytes"
	// QuotaPendingCreateBytes is HandlerOptions.MaxPendingCreateBytes.
	QuotaPendingCreateBytes Quota = "pending_create_bytes"
)

// Error is the kind as a text.
func (k Kind) Error() string { return strings.ReplaceAll(string(k), "_", " ") }

// Error is what an operation of this package returns when it fails. Fields that do not concern the
// failure are empty. It never holds the value of an environment variable.
type Error struct {
	// Op is the operation: "create", "wait", "kill", "release", "write", "resize", "open session", "add root", "new
	// manager", "recover", "bubblewrap"; of package agentproc "start agent", "wait for agent", "close agent".
	Op   string
	Kind Kind
	// Field is the wrong field of the request, such as "cwd" or "env[2].name". With ErrInternal it is the host's
	// option, such as "SessionOptions.Roots[1]", or, when the system cannot enforce a limit, "Limits.Memory".
	Field string
	// Reason says in words what is wrong with Field, or why a policy said no.
	Reason string
	// Rule is the policy's rule that said no.
	Rule string
	// Command is the command that was asked for: its name where that cannot be found or executed, with its arguments in
	// a denial.
	Command string

	SessionID  SessionID
	TerminalID TerminalID
	PIDs       []int

	// Quota is the quota that is full, and Limit its size in what it counts: terminals, bytes, requests.
	Quota Quota
	Limit int64

	// Err is the cause, where there is one: a system's error, a context's.
	Err error
}

// Error names the operation, the subject and what is wrong.
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

// maxErrorText is how many bytes of a text an error has on the wire: an agent that does not read its answers must not
// have the host keep a copy of each request.
const maxErrorText = 2 << 10

// cut returns e with texts that are not too long for the wire.
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

// inOperation returns err with the operation and the session filled in, if it is an *Error without.
func inOperation(op string, session SessionID, err error) error {
	e, ok := err.(*Error)
	if !ok || e.Op != "" {
		return err
	}
	filled := *e
	filled.Op, filled.SessionID = op, session
	return &filled
}

// invalidField is the error for a field of a request that cannot be used.
func invalidField(field, reason string) *Error {
	return &Error{Kind: ErrInvalidParams, Field: field, Reason: reason}
}

// fieldError is the error for a field of a request that the system did not accept. A process or system that lacks room
// is not the request's mistake.
func fieldError(field string, err error) *Error {
	for _, lack := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM} {
		if errors.Is(err, lack) {
			return &Error{Kind: ErrInternal, Reason: "the host lacks room", Err: err}
		}
	}
	return invalidField(field, lookup.Reason(err))
}
