package acpterm

// The client's capabilities (https://agentclientprotocol.com/protocol/v1/initialization). One type advertises terminals
// and checks requests, so that a client serves exactly the methods it advertises.

import "fmt"

// requiredCapability is the capability's place in the parameters of initialize.
const requiredCapability = "clientCapabilities.terminal"

// ClientCapabilities is the part of the schema type ClientCapabilities that concerns terminals. Its JSON is the value
// of clientCapabilities in initialize. An embedder with its own type can copy Terminal and Auth. The zero value is a
// client without terminals.
type ClientCapabilities struct {
	// Terminal indicates that the client serves all five terminal/* methods.
	Terminal bool `json:"terminal"`
	// Auth is omitted from the JSON if it is zero.
	Auth AuthCapabilities `json:"auth,omitzero"`
	Meta Meta             `json:"_meta,omitempty"`
}

// AuthCapabilities specifies how an agent may let the user sign in (schema type AuthCapabilities).
type AuthCapabilities struct {
	// Terminal indicates that the client can run the agent's program in a terminal for the user, as signin.Run does.
	Terminal bool `json:"terminal"`
	Meta     Meta `json:"_meta,omitempty"`
}

// Require returns nil if terminals are advertised, and otherwise a *CapabilityError for the method.
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

// CapabilityError is returned for a terminal/* method if the client did not advertise terminals. Its JSON is the data
// of the error on the wire, which has the code -32601.
type CapabilityError struct {
	Method             string `json:"method"`
	RequiredCapability string `json:"requiredCapability"`
	DeclaredValue      bool   `json:"declaredValue"`
	// SupportedMethods lists the methods served by the client (see HandlerOptions.SupportedMethods). It is never nil.
	SupportedMethods []string `json:"supportedMethods"`
}

func (e *CapabilityError) Error() string {
	return fmt.Sprintf("acpterm: %s: the client did not advertise %s", e.Method, e.RequiredCapability)
}
