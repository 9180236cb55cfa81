package acpterm_test

// Answers that are remembered, and until when.

import (
	"context"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/stretchr/testify/require"
)

// An answer that comes while its session is being closed is not one for the next session of that name.
func TestAnApprovalDoesNotOutliveItsSession(t *testing.T) {
	var m *acpterm.Manager
	closes, asked := true, 0
	m, _ = asking(t, func(ctx context.Context, _ acpterm.Question) acpterm.Answer {
		asked++
		if closes {
			require.NoError(t, m.CloseSession(context.WithoutCancel(ctx), "s"))
		}
		return acpterm.Answer{Approval: acpterm.ForSession}
	})
	require.NoError(t, m.OpenSession("s", nil))
	_, err := m.Create(t.Context(), childRequest("print", "x"))
	require.ErrorIs(t, err, acpterm.ErrSessionNotFound)

	closes = false
	require.NoError(t, m.OpenSession("s", nil))
	create(t, m, childRequest("print", "x"))
	require.Equal(t, 2, asked, "the first answer is not remembered")
	create(t, m, childRequest("print", "x"))
	require.Equal(t, 2, asked, "the second one is")
}

// What is allowed in every session does not end with one, not even with one that has no name.
func TestAnApprovalForAllSessionsOutlivesEach(t *testing.T) {
	asked := 0
	m, _ := asking(t, func(context.Context, acpterm.Question) acpterm.Answer {
		asked++
		return acpterm.Answer{Approval: acpterm.Always}
	})
	create(t, m, childRequest("print", "x"))
	require.NoError(t, m.CloseSession(t.Context(), "s"))
	require.NoError(t, m.CloseSession(t.Context(), ""))
	create(t, m, childRequest("print", "x"))
	require.Equal(t, 1, asked)
}
