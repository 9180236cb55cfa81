package agent

// What may be offered to a model: only what the client advertised.

import (
	"errors"
	"slices"
	"strings"

	"github.com/acpterm/acpterm"
)

// Supports reports whether the client serves all of some methods: whether a tool that needs them may be offered. Of
// methods besides terminal/* it knows what WithSupportedMethods told; without that, they count as served.
func (c *Client) Supports(methods ...string) bool {
	return !slices.ContainsFunc(methods, func(m string) bool { return !c.supports(m) })
}

// FilterMethods returns those of some methods that Supports is true of, in their order. It leaves the slice as it is.
func (c *Client) FilterMethods(methods []string) []string {
	return slices.DeleteFunc(slices.Clone(methods), func(m string) bool { return !c.supports(m) })
}

func (c *Client) supports(method string) bool {
	switch {
	case !isTerminalMethod(method):
		return !c.othersKnown || slices.Contains(c.others, method)
	case !c.capabilities.Terminal:
		return false
	}
	return slices.Contains([]string{
		acpterm.MethodCreate, acpterm.MethodOutput, acpterm.MethodWaitForExit,
		acpterm.MethodKill, acpterm.MethodRelease,
	}, method)
}

// isTerminalMethod reports whether the terminal capability decides on a method.
func isTerminalMethod(method string) bool { return strings.HasPrefix(method, "terminal/") }

// require is the guard before everything that is sent.
func (c *Client) require(method string) error {
	err := c.capabilities.Require(method)
	if refused, ok := errors.AsType[*acpterm.CapabilityError](err); ok {
		refused.SupportedMethods = append(refused.SupportedMethods, c.others...)
	}
	return err
}
