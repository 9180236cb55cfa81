package server

// Errors in the form of acpterm.Error.

import (
	"errors"
	"strings"
	"syscall"

	"github.com/acpterm/acpterm/internal/lookup"
	"github.com/acpterm/acpterm/remote/internal/frame"
)

// The kinds of errors, as in acpterm.
const (
	invalidParams   = "invalid_params"
	notExecutable   = "not_executable"
	commandNotFound = "command_not_found"
	cancelled       = "cancelled"
	denied          = "denied"
	internal        = "internal"
)

// failure corresponds to an acpterm.Error.
type failure struct {
	kind, field, reason, rule string
	err                       error // the cause, or nil
}

func (f *failure) Error() string { return f.kind + ": " + f.field + ": " + f.reason }

// errorFrame returns an error in the form to send.
func errorFrame(err error) *frame.Error {
	f, ok := errors.AsType[*failure](err)
	if !ok {
		return &frame.Error{Kind: internal, Cause: cut(err.Error())}
	}
	e := &frame.Error{Kind: f.kind, Field: cut(f.field), Reason: cut(f.reason), Rule: f.rule}
	if f.err != nil {
		e.Cause = cut(f.err.Error())
	}
	return e
}

// cut returns the beginning of a text of any length, for example one with the name of a command. An answer with a few
// such texts never exceeds frame.MaxAnswer, even if JSON escapes every byte.
func cut(text string) string {
	const most = 4 << 10
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

// invalidField returns the error for an unusable field of a request.
func invalidField(field, reason string) error {
	return &failure{kind: invalidParams, field: field, reason: reason}
}

// fieldError returns the error for a field of a request that the system rejected. If the process or the system lacks
// resources, the request is not to blame.
func fieldError(field string, err error) error {
	for _, lack := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM} {
		if errors.Is(err, lack) {
			return &failure{kind: internal, reason: "the remote system is out of descriptors or memory", err: err}
		}
	}
	return invalidField(field, lookup.Reason(err))
}

// lookupError converts an error of lookup.Shell or lookup.CommandLine.
func lookupError(err error) error {
	if e, ok := errors.AsType[*lookup.FieldError](err); ok {
		return invalidField(e.Field, e.Reason)
	}
	return &failure{kind: internal, reason: "the system's shell cannot be found", err: err}
}

// limitError returns the error for a limit that cannot be enforced.
func limitError(name, reason string, err error) error {
	return &failure{kind: internal, field: "Limits." + name, reason: reason, err: err}
}

// errChanged returns the error for a command whose program or directory changed after the decision about it.
func errChanged() error {
	return &failure{kind: denied, rule: "unchanged",
		reason: "the program or the directory was replaced or changed after the decision"}
}
