package agent

// The client's capabilities, sent with initialize.

import (
	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/wire"
)

// ReadClientCapabilities parses the client's capabilities from the params of an initialize request. As required by the
// schema, missing and non-boolean capabilities are treated as false. In ACP v2, capabilities.auth.terminal also sets
// Auth.Terminal. If the params are not a JSON object, ReadClientCapabilities returns acpterm.ErrInvalidParams.
func ReadClientCapabilities(initializeParams []byte) (acpterm.ClientCapabilities, error) {
	params := wire.ReadObject(initializeParams)
	if err := params.Err(); err != nil {
		return acpterm.ClientCapabilities{}, &acpterm.Error{
			Op: "initialize", Kind: acpterm.ErrInvalidParams, Field: err.Field, Reason: err.Reason,
		}
	}
	// A value of the wrong type counts as absent, so the errors of Read do not matter.
	var c acpterm.ClientCapabilities
	v1 := wire.ReadObject(params.Get("clientCapabilities"))
	v1.Read("terminal", &c.Terminal, "a boolean")
	v1.Read("_meta", &c.Meta, "an object")
	auth := wire.ReadObject(v1.Get("auth"))
	auth.Read("terminal", &c.Auth.Terminal, "a boolean")
	auth.Read("_meta", &c.Auth.Meta, "an object")
	v2 := wire.ReadObject(wire.ReadObject(params.Get("capabilities")).Get("auth"))
	if wire.ReadObject(v2.Get("terminal")).Err() == nil {
		c.Auth.Terminal = true
	}
	return c, nil
}
