//go:build linux || windows

package lawtest

// What the tests of limits_linux_test.go and limits_windows_test.go share.

import (
	"testing"

	"github.com/acpterm/acpterm/internal/hosttest"

	"github.com/acpterm/acpterm"
	"github.com/stretchr/testify/require"
)

// requireRefused fails if a command starts, or the error does not say which limit it could not have.
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
