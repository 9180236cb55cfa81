package agent

// The errors of calls, and the kinds that follow from the codes of answers.

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

// ErrBadResponse indicates that a response lacks a property required by ACP's schema, such as the ID of a new terminal.
const ErrBadResponse acpterm.Kind = "bad_response"

// An Error describes a failed call. Note that if the client does not support the method, calls return an
// *acpterm.CapabilityError instead, regardless of whether the client's capabilities indicate that the method is not
// supported or the client rejected the call.
type Error struct {
	// Method is the name of the method, such as "terminal/kill".
	Method string
	// TerminalID identifies the terminal. It is empty for terminal/create.
	TerminalID acpterm.TerminalID
	// Kind is the class of the error, if known. To test for it, use errors.Is. Kind is determined by the code in the
	// response: acpterm.ErrTerminalNotFound for -32002 if the call refers to a terminal, acpterm.ErrMethodNotFound for
	// -32601, acpterm.ErrInvalidParams for -32602, acpterm.ErrInternal for -32603, and acpterm.ErrCancelled for -32800.
	// Clients built with acpterm provide a more specific kind. Kind is also acpterm.ErrCancelled if the context passed
	// to the call is done, and acpterm.ErrTerminalNotFound if the terminal has already been released.
	Kind acpterm.Kind
	// Err is the underlying error, such as the client's response (a *jsonrpc2.Error), the cause of the context, or
	// jsonrpc2.ErrClosed (possibly wrapped) if the connection is closed. If the terminal had already been released, Err
	// is nil.
	Err error
}

// Error returns a message that includes the method, terminal, kind and underlying error.
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

// Unwrap returns the kind and the underlying error, so either of them can be matched using errors.Is or errors.As.
func (e *Error) Unwrap() (all []error) {
	if e.Kind != "" {
		all = append(all, e.Kind)
	}
	if e.Err != nil {
		all = append(all, e.Err)
	}
	return all
}

// cancelled returns the error of a call whose context has ended.
func (k *call) cancelled(ctx context.Context) error {
	return &Error{Method: k.method, TerminalID: k.terminal, Kind: acpterm.ErrCancelled, Err: context.Cause(ctx)}
}

// failed returns the call's error for an error of jsonrpc2.
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

// Error codes that ACP adds to those of JSON-RPC (schema type ErrorCode).
const (
	codeResourceNotFound = -32002
	codeRequestCancelled = -32800
)

// kindOf returns the kind that follows from an answer's code, if its data has none.
func (k *call) kindOf(code int64) acpterm.Kind {
	switch {
	case code == codeResourceNotFound && k.terminal != "":
		return acpterm.ErrTerminalNotFound
	case code == codeRequestCancelled:
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

// readKind returns the kind that clients built with acpterm put into an error's data. It ignores other values.
func readKind(data members) (kind acpterm.Kind) {
	known := []acpterm.Kind{
		acpterm.ErrInvalidParams, acpterm.ErrNotExecutable, acpterm.ErrCommandNotFound, acpterm.ErrTerminalNotFound,
		acpterm.ErrCancelled, acpterm.ErrDenied, acpterm.ErrSessionNotFound, acpterm.ErrQuota, acpterm.ErrClosing,
		acpterm.ErrSurvivors, acpterm.ErrExitLost, acpterm.ErrConnectionLost, acpterm.ErrMethodNotFound,
		acpterm.ErrInternal,
	}
	if json.Unmarshal(data["kind"], &kind) != nil || !slices.Contains(known, kind) {
		return ""
	}
	return kind
}

// readRefusal returns the CapabilityError in an error's data, or nil if the data has none.
func readRefusal(data members) *acpterm.CapabilityError {
	refused := acpterm.CapabilityError{SupportedMethods: []string{}}
	if json.Unmarshal(data["method"], &refused.Method) != nil ||
		json.Unmarshal(data["requiredCapability"], &refused.RequiredCapability) != nil ||
		refused.RequiredCapability == "" {
		return nil
	}
	// These two are optional.
	json.Unmarshal(data["declaredValue"], &refused.DeclaredValue)
	var supported []string
	if json.Unmarshal(data["supportedMethods"], &supported) == nil && supported != nil {
		refused.SupportedMethods = supported
	}
	return &refused
}
