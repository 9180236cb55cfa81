package acpterm_test

// Laws 4 and 6, and what a manager knows of whom.

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/stretchr/testify/require"
)

// Law 6, at the very moment when Close returns.
func TestCloseLeavesNothing(t *testing.T) {
	needsEndsInTheMiddle(t)
	for range 20 {
		mark := fmt.Sprintf("%s=close-%d-%d", markVariable, os.Getpid(), marks.Add(1))
		before := openDescriptors()
		m := must(acpterm.NewManager(&acpterm.Options{Env: append(os.Environ(), mark)}))
		for _, child := range []string{"sleep", "exit", "holder", "stubborn-holder", "polite"} {
			create(t, m, childRequest(child, "0"), &acpterm.TerminalOptions{
				Timeout:    time.Hour,
				Escalation: []acpterm.EscalationStep{{Signal: syscall.SIGTERM, Wait: time.Millisecond}},
			})
		}
		require.NoError(t, m.Close())
		require.Equal(t, before, openDescriptors())
		require.Empty(t, markedProcesses(mark))
		require.Empty(t, libraryGoroutines())
	}
}
