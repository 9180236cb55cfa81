package acpterm

// clientCapabilities.terminal (https://agentclientprotocol.com/protocol/v1/initialization): a client
// advertises it, an agent reads it, and both check requests with it. One type serves all three, so
// that what is served is what was advertised. clientCapabilities.auth is beside it, for the package signin.

import (
	"fmt"

	"github.com/acpterm/acpterm/internal/wire"
)

// requiredCapability is the capability's place in the parameters of initialize.
const requiredCapability = "clientCapabilities.terminal"

// ClientCapabilities is the part of the schema type ClientCapabilities that concerns terminals. Its JSON is the value
// of clientCapabilities in initialize; an embedder with its own type copies Terminal and Auth. The zero value is a
// client without terminals.
type ClientCapabilities struct {
	// Terminal says that the client serves all five terminal/* methods.
	Terminal bool `json:"terminal"`
	// Auth is omitted from the JSON if it is zero.
	Auth AuthCapabilities `json:"auth,omitzero"`
	Meta Meta             `json:"_meta,omitempty"`
}

// AuthCapabilities says which ways of signing in an agent may offer (schema type AuthCapabilities).
type AuthCapabilities struct {
	// Terminal says that the client can run the agent's program in a terminal for the user, as signin.Run does.
	Terminal bool `json:"terminal"`
	Meta     Meta `json:"_meta,omitempty"`
}

// ReadClientCapabilities reads the capabilities from the params of an initialize request. An absent capability, or a
// value other than a boolean, counts as false, as the schema says. capabilities.auth.terminal of ACP v2 counts as
// Auth.Terminal. It fails with ErrInvalidParams if the params are not a JSON object.
func ReadClientCapabilities(initializeParams []byte) (ClientCapabilities, error) {
	params := wire.ReadObject(initializeParams)
	if err := params.Err(); err != nil {
		return ClientCapabilities{}, invalidParams(err)
	}
	// A value of the wrong type counts as absent, so the errors of Read do not matter.
	var c ClientCapabilities
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

// Require returns nil if terminals were advertised, and otherwise a *CapabilityError for the method.
func (c ClientCapabilities) Require(method string) error {
	if c.Terminal {
		return nil
	}
	return &CapabilityError{
		Method:             method,
		RequiredCapability: requiredCapability,
		DeclaredValue:      c.Terminal,
		SupportedMethods:   []string{},
	}
}

// CapabilityError is the error for a terminal/* method if the client did not advertise terminals. Its JSON is the data
// of the error on the wire, whose code is -32601.
type CapabilityError struct {
	Method             string `json:"method"`
	RequiredCapability string `json:"requiredCapability"`
	DeclaredValue      bool   `json:"declaredValue"`
	// SupportedMethods are the methods that the client serves (see HandlerOptions.SupportedMethods). It is not nil.
	SupportedMethods []string `json:"supportedMethods"`
}

func (e *CapabilityError) Error() string {
	return fmt.Sprintf("acpterm: %s: the client did not advertise %s", e.Method, e.RequiredCapability)
}
