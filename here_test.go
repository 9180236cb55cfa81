package acpterm_test

// The tests that hold wherever commands run, on this system.

import (
	"testing"

	"github.com/acpterm/acpterm/internal/terminaltest"
)

func TestHere(t *testing.T) {
	p := here()
	trees(&p)
	terminaltest.Run(t, p)
}
