//go:build !linux

package bubblewrap

import "github.com/acpterm/acpterm"

// Sandbox is an acpterm.Sandbox. On this system, New always returns an error.
type Sandbox struct{}

func newSandbox(Options) (*Sandbox, error) { return nil, internalError("bubblewrap is for Linux", nil) }

func (*Sandbox) wrap(acpterm.Proposal) (acpterm.Wrapped, error) {
	return acpterm.Wrapped{}, internalError("bubblewrap is for Linux", nil)
}
