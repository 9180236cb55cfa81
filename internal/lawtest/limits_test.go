//go:build linux || windows

package lawtest

// Shared helpers of limits_linux_test.go and limits_windows_test.go.

import (
	"testing"

	"github.com/acpterm/acpterm/internal/hosttest"

	"github.com/acpterm/acpterm"
	"github.com/stretchr/testify/require"
)

// requireRefused fails if a command starts, or if the error does not name the refused limit.
func requireRefused(t *testing.T, m *acpterm.Manager, field string, limits acpterm.Limits) {
	t.Helper()
	term, err := m.Create(t.Context(), hosttest.ChildRequest("sleep"), &acpterm.CommandOptions{Limits: &limits})
	require.Nil(t, term)
	var e *acpterm.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, acpterm.ErrInternal, e.Kind, "%v", err)
	require.Equal(t, field, e.Field)
	require.Empty(t, m.Terminals())
}
