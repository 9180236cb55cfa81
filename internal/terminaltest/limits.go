package terminaltest

// Limits on every system.

import (
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/stretchr/testify/require"
)

func limitTests() []test {
	return []test{
		{"LimitsThatAreNone", TestLimitsThatAreNone},
	}
}

func TestLimitsThatAreNone(t *testing.T, p Place) {
	m := p.NewManager(t, nil)
	for field, limits := range map[string]acpterm.Limits{
		"CommandOptions.Limits.CPUTime":   {CPUTime: -time.Second},
		"CommandOptions.Limits.Processes": {Processes: -1},
		"CommandOptions.Limits.OpenFiles": {OpenFiles: -1},
		"CommandOptions.Limits.Nice":      {Nice: 20},
	} {
		p.RequireRefused(t, m, field, limits)
	}
	p.RequireRefused(t, m, "CommandOptions.Limits.Nice", acpterm.Limits{Nice: -1})
	term := Create(t, m, p.Child("exit", "0"))
	require.Empty(t, term.Info().Limits)
}

// RequireRefused fails if a command starts, or if the error does not name the refused limit.
func (p Place) RequireRefused(t *testing.T, m *acpterm.Manager, field string, limits acpterm.Limits) {
	t.Helper()
	term, err := m.Create(t.Context(), p.Child("sleep"), &acpterm.CommandOptions{Limits: &limits})
	require.Nil(t, term)
	var e *acpterm.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, acpterm.ErrInternal, e.Kind, "%v", err)
	require.Equal(t, field, e.Field)
	require.Empty(t, m.Terminals())
}
