package lawtest

// No signal reaches a recycled number. When a command has ended, another process takes its number if the system assigns
// it, and the test fails if that process is signalled. Choosing numbers in a PID namespace requires root.

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/acpterm/acpterm/internal/linuxtest"
	"github.com/stretchr/testify/require"
)

func TestNoSignalReachesARecycledNumber(t *testing.T) {
	if !linuxtest.InPIDNamespace(t) {
		return
	}
	m := hosttest.NewManager(t, &acpterm.Options{
		Commands: acpterm.CommandOptions{
			Escalation: []acpterm.EscalationStep{{Signal: syscall.SIGTERM, Wait: 2 * time.Millisecond}},
		},
	})
	lines := []string{"", "sleep 3600 & exit 0", "trap '' TERM; sleep 3600 & exit 0", "setsid sleep 3600 & exit 0"}
	for i := 0; i < 16; {
		term := hosttest.Finish(t, m, shellRequest("echo $$; "+lines[i%len(lines)]))
		said, _, _ := strings.Cut(term.Output().Output, "\n")
		leader := hosttest.Number(said)
		var others unrelated
		others.take(t, leader) // which it cannot while the leader is not reaped
		if i%2 == 0 {
			require.NoError(t, term.Kill(t.Context()))
		}
		require.NoError(t, m.Release(t.Context(), "s", term.ID()))
		require.Zero(t, others.end(), "signalled")
		// An ended member of its group keeps the number until process 1 has reaped it.
		free := func() bool { return others.take(t, leader) || isThread(leader) }
		require.Eventually(t, free, time.Minute, time.Millisecond, "the number is free after the release")
		if !isThread(leader) { // else it was not taken, and the round is made again
			i++
		}
		require.NoError(t, term.Kill(t.Context()))
		require.Zero(t, others.end(), "signalled after the release")
	}
}

// isThread reports whether a number belongs to a thread, such as one that Go started in the meantime.
func isThread(number int) bool {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", number))
	_, rest, found := strings.Cut(string(status), "\nTgid:")
	tgid, _, _ := strings.Cut(rest, "\n")
	return found && strings.TrimSpace(tgid) != fmt.Sprint(number)
}
