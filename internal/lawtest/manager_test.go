package lawtest

// Laws 4 and 6, and the separation between sessions of a manager.

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/acpterm/acpterm/internal/hosttest"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/leaktest"
	"github.com/stretchr/testify/require"
)

// Law 6, at the very moment when Close returns.
func TestCloseLeavesNothing(t *testing.T) {
	leaktest.NeedsEndsInTheMiddle(t)
	for range 20 {
		mark := leaktest.NewMark()
		before := leaktest.Descriptors()
		m := hosttest.Must(acpterm.NewManager(&acpterm.Options{
			Commands: acpterm.CommandOptions{Env: append(os.Environ(), mark)},
		}))
		for _, child := range []string{"sleep", "exit", "holder", "stubborn-holder", "polite"} {
			hosttest.Create(t, m, hosttest.ChildRequest(child, "0"), &acpterm.CommandOptions{
				Timeout:    time.Hour,
				Escalation: []acpterm.EscalationStep{{Signal: syscall.SIGTERM, Wait: time.Millisecond}},
			})
		}
		require.NoError(t, m.Close())
		require.Equal(t, before, leaktest.Descriptors())
		require.Empty(t, leaktest.Processes(mark))
		require.Empty(t, leaktest.Goroutines())
	}
}
