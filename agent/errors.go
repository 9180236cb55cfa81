package agent

// The errors that a caller can test for, and what the codes of answers become.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/acpterm/acpterm"
	"github.com/sourcegraph/jsonrpc2"
)

// ErrBadResponse is an answer without something that ACP's schema requires in it, such as the id of a new terminal.
const ErrBadResponse acpterm.Kind = "bad_response"

// Error is a call that failed, unless it was refused because the client did not advertise it: that is an
// *acpterm.CapabilityError, also when it is the client that said so.
type Error struct {
	// Method is what was called, as "terminal/kill".
	Method string
	// TerminalID is the terminal that was meant; empty for a create.
	TerminalID acpterm.TerminalID
	// Kind says what is wrong, if that is known; errors.Is finds it. It follows from an answer's code: -32002 is
	// acpterm.ErrTerminalNotFound (where a terminal was meant), -32601 acpterm.ErrMethodNotFound, -32602
	// acpterm.ErrInvalidParams and -32800 acpterm.ErrCancelled; and a client that is made with acpterm says it more
	// exactly. acpterm.ErrCancelled is also a call whose own context ended, and acpterm.ErrTerminalNotFound also one on
	// a handle that was released.
	Kind acpterm.Kind
	// Err is the cause: a *jsonrpc2.Error if that is what the client answered, jsonrpc2.ErrClosed, perhaps wrapped, if
	// the connection is gone, or the cause of the context's end. Nil for a handle that was released.
	Err error
}

// Error names the method, the terminal and what is wrong.
func (e *Error) Error() string {
	parts := []string{"agent", e.Method}
	if e.TerminalID != "" {
		parts = append(parts, fmt.Sprintf("terminal %q", string(e.TerminalID)))
	}
	answered, ok := e.Err.(*jsonrpc2.Error)
	switch {
	case ok:
		parts = append(parts, fmt.Sprintf("the client answered %d: %s", answered.Code, answered.Message))
	case e.Kind != "":
		parts = append(parts, e.Kind.Error())
		fallthrough
	default:
		if e.Err != nil {
			parts = append(parts, e.Err.Error())
		}
	}
	return strings.Join(parts, ": ")
}

// Unwrap lets errors.Is find the kind and the cause.
func (e *Error) Unwrap() (all []error) {
	if e.Kind != "" {
		all = append(all, e.Kind)
	}
	if e.Err != nil {
		all = append(all, e.Err)
	}
	return all
}

// gaveUp is the error for a call whose context has ended.
func (k *call) gaveUp(ctx context.Context) error {
	return &Error{Method: k.method, TerminalID: k.terminal, Kind: acpterm.ErrCancelled, Err: context.Cause(ctx)}
}

// failed is the error for a call that jsonrpc2 has an error for.
func (k *call) failed(err error) error {
	e := &Error{Method: k.method, TerminalID: k.terminal, Err: err}
	answered, ok := errors.AsType[*jsonrpc2.Error](err)
	if !ok {
		return e
	}
	data := readMembers(answered.Data)
	if answered.Code == jsonrpc2.CodeMethodNotFound {
		if refused := readRefusal(data); refused != nil {
			return refused
		}
	}
	e.Kind = readKind(data)
	if e.Kind == "" {
		e.Kind = k.kindOf(answered.Code)
	}
	return e
}

// kindOf is what a code means without further data.
func (k *call) kindOf(code int64) acpterm.Kind {
	switch {
	case code == acpterm.CodeResourceNotFound && k.terminal != "":
		return acpterm.ErrTerminalNotFound
	case code == acpterm.CodeRequestCancelled:
		return acpterm.ErrCancelled
	case code == jsonrpc2.CodeMethodNotFound:
		return acpterm.ErrMethodNotFound
	case code == jsonrpc2.CodeInvalidParams:
		return acpterm.ErrInvalidParams
	case code == jsonrpc2.CodeInternalError:
		return acpterm.ErrInternal
	}
	return ""
}

// readKind returns the kind that a client made with acpterm puts into an error's data. Anything else that happens to be
// called so counts as absent.
func readKind(data members) (kind acpterm.Kind) {
	known := []acpterm.Kind{
		acpterm.ErrInvalidParams, acpterm.ErrNotExecutable, acpterm.ErrCommandNotFound, acpterm.ErrTerminalNotFound,
		acpterm.ErrCancelled, acpterm.ErrDenied, acpterm.ErrSessionNotFound, acpterm.ErrQuota, acpterm.ErrClosing,
		acpterm.ErrSurvivors, acpterm.ErrMethodNotFound, acpterm.ErrInternal,
	}
	if json.Unmarshal(data["kind"], &kind) != nil || !slices.Contains(known, kind) {
		return ""
	}
	return kind
}

// readRefusal returns the error for a capability that was not advertised, nil if the data is another's.
func readRefusal(data members) *acpterm.CapabilityError {
	refused := acpterm.CapabilityError{SupportedMethods: []string{}}
	if json.Unmarshal(data["method"], &refused.Method) != nil ||
		json.Unmarshal(data["requiredCapability"], &refused.RequiredCapability) != nil ||
		refused.RequiredCapability == "" {
		return nil
	}
	// These two only add detail.
	json.Unmarshal(data["declaredValue"], &refused.DeclaredValue)
	var supported []string
	if json.Unmarshal(data["supportedMethods"], &supported) == nil && supported != nil {
		refused.SupportedMethods = supported
	}
	return &refused
}
