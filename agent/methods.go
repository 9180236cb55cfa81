package agent

// The client's capabilities, sent with initialize, and the methods that it serves.

import (
	"errors"
	"slices"
	"strings"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/wire"
)

// Supports reports whether the client supports all of the given methods. It can be used, for example, to choose which
// tools to offer to a model. If SupportedMethods is not set, all methods other than terminal/* are assumed to be
// supported.
func (c *Client) Supports(methods ...string) bool {
	return !slices.ContainsFunc(methods, func(m string) bool { return !c.supports(m) })
}

// FilterMethods returns a new slice containing those methods that the client supports, in their original order.
func (c *Client) FilterMethods(methods []string) []string {
	return slices.DeleteFunc(slices.Clone(methods), func(m string) bool { return !c.supports(m) })
}

func (c *Client) supports(method string) bool {
	switch {
	case !isTerminalMethod(method):
		return !c.otherMethodsKnown || slices.Contains(c.otherMethods, method)
	case !c.capabilities.Terminal:
		return false
	}
	return slices.Contains([]string{
		acpterm.MethodCreate, acpterm.MethodOutput, acpterm.MethodWaitForExit,
		acpterm.MethodKill, acpterm.MethodRelease,
	}, method)
}

// isTerminalMethod reports whether a method depends on the terminal capability.
func isTerminalMethod(method string) bool { return strings.HasPrefix(method, "terminal/") }

// require returns a CapabilityError if the terminal capability does not include the method.
func (c *Client) require(method string) error {
	err := c.capabilities.Require(method)
	if refused, ok := errors.AsType[*acpterm.CapabilityError](err); ok {
		refused.SupportedMethods = append(refused.SupportedMethods, c.otherMethods...)
	}
	return err
}

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
