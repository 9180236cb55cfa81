package acpsdk

// Errors for the SDK. It sends an unwrapped *acp.RequestError as it is, and any other error as an internal error.

import (
	"encoding/json"
	"errors"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/signin"
	acp "github.com/coder/acp-go-sdk"
)

// IsSignInRequired is signin.IsRequired for errors of the SDK. The methods are in the acp.InitializeResponse: encode it
// as JSON for signin.ReadMethods.
func IsSignInRequired(err error) bool {
	e, ok := errors.AsType[*acp.RequestError](err)
	return ok && e.Code == signin.CodeRequired
}

// requestError converts an error, with the code, message and data of acpterm.ResponseError.
func (t *Terminals) requestError(err error) *acp.RequestError {
	wire := acpterm.ResponseError(err)
	converted := &acp.RequestError{Code: int(wire.Code), Message: wire.Message}
	if wire.Data != nil {
		converted.Data = *wire.Data
	}
	// A policy's reason may have any length, and the name of a command that is not found is in message and data.
	if encoded, _ := json.Marshal(converted); t.TerminalCapability() && len(encoded) > t.maxEncoded() {
		if e, ok := errors.AsType[*acpterm.Error](err); ok {
			converted.Message = "acpterm: " + e.Kind.Error()
			converted.Data = map[string]any{"kind": e.Kind}
		}
	}
	return converted
}
