package lawtest

// Limits on Windows: which ones a terminal has, and which ones make a create fail. Package internal/proc tests their
// enforcement by a job.

import (
	"errors"
	"testing"
	"time"

	"github.com/acpterm/acpterm/internal/hosttest"

	"github.com/acpterm/acpterm"
	"github.com/stretchr/testify/require"
)

func TestLimitsOnWindows(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	limits := acpterm.Limits{CPUTime: 1500 * time.Millisecond, Memory: 1 << 30, Processes: 7, Nice: 5}
	term := hosttest.Create(t, m, hosttest.ChildRequest("exit", "0"), &acpterm.CommandOptions{Limits: &limits})
	require.Equal(t, []acpterm.EnforcedLimit{
		{Name: "CPUTime", Value: 2, By: "job object", Tree: true},
		{Name: "Memory", Value: 1 << 30, By: "job object", Tree: true},
		{Name: "Processes", Value: 7, By: "job object", Tree: true},
		{Name: "Nice", Value: 5, By: "priority"},
	}, term.Info().Limits)
	hosttest.AwaitExit(t, term)
}

func TestLimitsThatNoJobHas(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	for field, limits := range map[string]acpterm.Limits{"OpenFiles": {OpenFiles: 5}, "FileSize": {FileSize: 5}} {
		here().RequireRefused(t, m, "Limits."+field, limits)
		_, err := m.Create(t.Context(), hosttest.ChildRequest("sleep"), &acpterm.CommandOptions{Limits: &limits})
		require.ErrorIs(t, err, errors.ErrUnsupported)
		require.ErrorContains(t, err, "Limits."+field+": cannot be enforced on Windows")
	}
}
