package acpterm

// clientCapabilities.terminal (https://agentclientprotocol.com/protocol/v1/initialization): a client
// advertises it, an agent reads it, and both check requests with it. One type serves all three, so
// that what is served is what was advertised.

import (
	"fmt"

	"github.com/acpterm/acpterm/internal/wire"
)

// requiredCapability is the capability's place in the parameters of initialize.
const requiredCapability = "clientCapabilities.terminal"

// ClientCapabilities is the part of the schema type ClientCapabilities that concerns terminals. Its
// JSON is what goes into initialize as clientCapabilities; an embedder with a type of its own copies
// Terminal there. The zero value is a client without terminals.
type ClientCapabilities struct {
	// Terminal says that the client serves all five terminal/* methods.
	Terminal bool `json:"terminal"`
	Meta     Meta `json:"_meta,omitempty"`
}

// ReadClientCapabilities reads what a client advertised from the parameters of its initialize request.
// A capability that is absent, or that is not a boolean, counts as false, as the schema says. It fails
// only for parameters that are no JSON object, with an *Error of kind ErrInvalidParams.
func ReadClientCapabilities(initializeParams []byte) (ClientCapabilities, error) {
	params := wire.ReadObject(initializeParams)
	if err := params.Err(); err != nil {
		return ClientCapabilities{}, invalidParams(err)
	}
	// A value of the wrong type counts as absent, so the errors of Read do not matter.
	var c ClientCapabilities
	capabilities := wire.ReadObject(params.Get("clientCapabilities"))
	capabilities.Read("terminal", &c.Terminal, "a boolean")
	capabilities.Read("_meta", &c.Meta, "an object")
	return c, nil
}

// Require is the guard: nil when terminals were advertised, else a *CapabilityError for the method.
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

// CapabilityError is a terminal/* method that was called though the client did not advertise
// terminals. Its JSON is the data of the error on the wire, which has the code -32601.
type CapabilityError struct {
	Method             string `json:"method"`
	RequiredCapability string `json:"requiredCapability"`
	DeclaredValue      bool   `json:"declaredValue"`
	// SupportedMethods are the methods that the client does serve, as far as it is known (see
	// HandlerOptions.SupportedMethods); never nil.
	SupportedMethods []string `json:"supportedMethods"`
}

func (e *CapabilityError) Error() string {
	return fmt.Sprintf("acpterm: %s: the client did not advertise %s", e.Method, e.RequiredCapability)
}
