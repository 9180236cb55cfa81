package acpterm

// The client's capabilities (https://agentclientprotocol.com/protocol/v1/initialization). One type advertises terminals
// and checks requests, so that a client serves exactly the methods it advertises.

import "fmt"

// ClientCapabilities holds the terminal-related fields of the schema type of the same name. A client includes it in the
// initialize request as clientCapabilities, encoded as JSON. If you already have your own type for clientCapabilities,
// copy the Terminal and Auth fields to it. The zero value indicates that the client does not support terminals.
type ClientCapabilities struct {
	// Terminal indicates that the client serves all five terminal/* methods.
	Terminal bool `json:"terminal"`
	// Auth is omitted from the JSON encoding if it is zero.
	Auth AuthCapabilities `json:"auth,omitzero"`
	Meta Meta             `json:"_meta,omitempty"`
}

// AuthCapabilities describes how users can sign in to the agent (schema type AuthCapabilities).
type AuthCapabilities struct {
	// Terminal reports whether the client can run the agent's program in a terminal attended by a user. The agent may
	// then offer sign-in methods, which package signin runs.
	Terminal bool `json:"terminal"`
	Meta     Meta `json:"_meta,omitempty"`
}

// Require returns a *CapabilityError for the given method unless terminals are advertised.
func (c ClientCapabilities) Require(method string) error {
	if c.Terminal {
		return nil
	}
	return &CapabilityError{
		Method:             method,
		RequiredCapability: "clientCapabilities.terminal", // its place in initialize
		DeclaredValue:      c.Terminal,
		SupportedMethods:   []string{},
	}
}

// A CapabilityError is returned for terminal/* methods if the client has not advertised support for terminals. The
// agent receives it as the data of an error with code -32601.
type CapabilityError struct {
	Method             string `json:"method"`
	RequiredCapability string `json:"requiredCapability"`
	DeclaredValue      bool   `json:"declaredValue"`
	// SupportedMethods lists methods that the client supports, as agent.ClientOptions tells it. From a Handler, which
	// knows only terminal/*, the list is empty. It is never nil.
	SupportedMethods []string `json:"supportedMethods"`
}

func (e *CapabilityError) Error() string {
	return fmt.Sprintf("acpterm: %s: the client did not advertise %s", e.Method, e.RequiredCapability)
}
