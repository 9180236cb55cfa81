package acpsdk

// Errors in the one type that the SDK sends as it is. Of another it makes an internal error, also of one that wraps it.

import (
	"encoding/json"
	"errors"

	"github.com/acpterm/acpterm"
	acp "github.com/coder/acp-go-sdk"
)

// requestError is an error for the SDK, with the code, message and data of acpterm.ResponseError.
func (t *Terminals) requestError(err error) *acp.RequestError {
	wire := acpterm.ResponseError(err)
	converted := &acp.RequestError{Code: int(wire.Code), Message: wire.Message}
	if wire.Data != nil {
		converted.Data = *wire.Data
	}
	// A policy's reason may be of any length, and a command that is not found is named twice, with escapes.
	if encoded, _ := json.Marshal(converted); t.TerminalCapability() && len(encoded) > t.room() {
		if e, ok := errors.AsType[*acpterm.Error](err); ok {
			converted.Message = "acpterm: " + e.Kind.Error()
			converted.Data = map[string]any{"kind": e.Kind}
		}
	}
	return converted
}
