//go:build !linux && !darwin && !freebsd

package lawtest

import "github.com/acpterm/acpterm/internal/terminaltest"

// systemChildren returns the children for this system's tests.
func systemChildren() map[string]func(args []string) { return nil }

// trees does nothing: the tests of trees do not run here.
func trees(*terminaltest.Place) {}
