package agent

// The methods that the client serves.

import (
	"errors"
	"slices"
	"strings"

	"github.com/acpterm/acpterm"
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
