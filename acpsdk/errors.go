package acpsdk

// Conversion of errors for the SDK. The SDK sends an unwrapped *acp.RequestError unchanged, and any other error as an
// internal error.

import (
	"encoding/json"
	"errors"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/signin"
	acp "github.com/coder/acp-go-sdk"
)

// IsSignInRequired is like signin.IsRequired but for errors returned by the SDK. To find out how the user can sign in,
// encode the acp.InitializeResponse as JSON and pass it to signin.ReadMethods.
func IsSignInRequired(err error) bool {
	e, ok := errors.AsType[*acp.RequestError](err)
	return ok && e.Code == signin.CodeRequired
}

// Cause returns the error behind an error of the five ACP methods, usually an *acpterm.Error, for use with errors.Is and
// errors.As:
//
//	_, err := c.Terminals.CreateTerminal(ctx, req)
//	denied := errors.Is(acpsdk.Cause(err), fs.ErrPermission)
//
// The methods cannot wrap it themselves, because acp.RequestError has no Unwrap method, and the SDK sends the code of no
// other type. Cause returns any other error unchanged, also a *jsonrpc2.Error without data that a policy or a hook
// returned.
func Cause(err error) error {
	if e, ok := errors.AsType[*acp.RequestError](err); ok {
		if data, ok := e.Data.(errorData); ok {
			return data.cause
		}
	}
	return err
}

// errorData is the data of an *acp.RequestError. It is encoded as the data of acpterm.ResponseError.
type errorData struct {
	json.RawMessage
	cause error
}

// requestError converts an error. The result has the code, message and data of acpterm.ResponseError.
func (t *Terminals) requestError(err error) *acp.RequestError {
	wire := acpterm.ResponseError(err)
	converted := &acp.RequestError{Code: int(wire.Code), Message: wire.Message}
	if wire.Data != nil { // only the host's own *jsonrpc2.Error may lack it
		converted.Data = errorData{*wire.Data, err}
	}
	// A policy's reason may have any length. The name of a missing command is in both message and data.
	if encoded, _ := json.Marshal(converted); t.TerminalCapability() && len(encoded) > t.maxEncoded() {
		if e, ok := errors.AsType[*acpterm.Error](err); ok {
			converted.Message = "acpterm: " + e.Kind.Error()
			kind, _ := json.Marshal(map[string]any{"kind": e.Kind})
			converted.Data = errorData{kind, err}
		}
	}
	return converted
}
