package acpterm_test

// Limits on every system: values that are out of range are refused, and a command without limits has none. What the
// system enforces is in limits_linux_test.go and limits_windows_test.go.

import (
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/stretchr/testify/require"
)

func TestLimitsThatAreNone(t *testing.T) {
	m := newManager(t, nil)
	for field, limits := range map[string]acpterm.Limits{
		"Limits.CPUTime":   {CPUTime: -time.Second},
		"Limits.Processes": {Processes: -1},
		"Limits.OpenFiles": {OpenFiles: -1},
		"Limits.Nice":      {Nice: 20},
	} {
		requireRefused(t, m, field, limits)
	}
	requireRefused(t, m, "Limits.Nice", acpterm.Limits{Nice: -1})
	term := create(t, m, childRequest("exit", "0"))
	require.Empty(t, term.Info().Limits)
}

// requireRefused fails if a command starts, or the error does not say which limit it could not have.
func requireRefused(t *testing.T, m *acpterm.Manager, field string, limits acpterm.Limits) {
	t.Helper()
	term, err := m.Create(t.Context(), childRequest("sleep"), &acpterm.TerminalOptions{Limits: &limits})
	require.Nil(t, term)
	var e *acpterm.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, acpterm.ErrInternal, e.Kind, "%v", err)
	require.Equal(t, field, e.Field)
	require.Empty(t, m.Terminals())
}
