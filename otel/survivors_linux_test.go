package otelacpterm_test

// Spans of commands whose trees cannot be ended.

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/internal/linuxtest"
	otelacpterm "github.com/acpterm/acpterm/otel"
)

// The span says why a kill has failed, although no process is known to run.
func TestExitingProcessesAreInTheSpan(t *testing.T) {
	m := acptermtest.NewManager(t, &acpterm.Options{Commands: acpterm.CommandOptions{
		Escalation: []acpterm.EscalationStep{{Signal: syscall.SIGKILL, Wait: 2 * time.Second}},
	}})
	seen := observe(t, m, otelacpterm.Options{})
	terminal := create(t, m, acpterm.CreateTerminalRequest{
		SessionID: "s", Command: "/bin/sh", Args: []string{"-c", "sleep 300 & echo $!; wait"},
	})
	ready(t, terminal)
	var pid int
	_, err := fmt.Sscan(terminal.Output().Output, &pid)
	require.NoError(t, err)
	release := linuxtest.HoldExit(t, pid)
	require.ErrorIs(t, terminal.Kill(t.Context()), acpterm.ErrSurvivors)
	<-terminal.Done()
	release()
	require.NoError(t, m.Close()) // returns when the hook has all events
	seen.stop()

	span := attributes(seen.span().Attributes)
	require.Regexp(t, fmt.Sprintf(`processes \[(\d+ )*%d( \d+)*\] have been killed, and are exiting`, pid),
		span["acpterm.survivors.doubt"], "beside a load, maybe with the shell")
	require.NotContains(t, span, "acpterm.survivors")
}
