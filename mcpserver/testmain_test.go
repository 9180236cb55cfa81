package mcpserver

import (
	"os"
	"testing"

	"github.com/acpterm/acpterm/internal/racetest"
)

// TestMain lets the test binary also act as a relay, like a host's executable, and as other programs.
func TestMain(m *testing.M) {
	RunRelay()
	if len(os.Args) > 2 && os.Args[1] == "child" {
		child(os.Args[2], os.Args[3:])
		return
	}
	racetest.Main(m)
}
