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

// requestError converts an error. The result has the code, message and data of acpterm.ResponseError.
func (t *Terminals) requestError(err error) *acp.RequestError {
	wire := acpterm.ResponseError(err)
	converted := &acp.RequestError{Code: int(wire.Code), Message: wire.Message}
	if wire.Data != nil {
		converted.Data = *wire.Data
	}
	// A policy's reason may have any length. The name of a missing command is in both message and data.
	if encoded, _ := json.Marshal(converted); t.TerminalCapability() && len(encoded) > t.maxEncoded() {
		if e, ok := errors.AsType[*acpterm.Error](err); ok {
			converted.Message = "acpterm: " + e.Kind.Error()
			converted.Data = map[string]any{"kind": e.Kind}
		}
	}
	return converted
}
