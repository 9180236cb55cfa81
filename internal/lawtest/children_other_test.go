//go:build !linux && !darwin && !freebsd

package lawtest

import "github.com/acpterm/acpterm/internal/terminaltest"

// systemChildren are the children for this system's tests.
func systemChildren() map[string]func(args []string) { return nil }

// trees is how processes are looked at where the tests of trees run.
func trees(*terminaltest.Place) {}
