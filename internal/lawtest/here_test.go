package lawtest

// The tests that hold wherever commands run, on this system.

import (
	"testing"

	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/acpterm/acpterm/internal/terminaltest"
)

func TestMain(m *testing.M) { hosttest.RunTests(m, systemChildren()) }

// here returns this system as a place for terminaltest.
func here() terminaltest.Place {
	p := hosttest.Here()
	trees(&p)
	return p
}

func TestHere(t *testing.T) { terminaltest.Run(t, here()) }
