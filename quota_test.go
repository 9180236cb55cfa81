package acpterm

// The quotas that the documentation puts into numbers.

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// 256 terminals with the highest limit are within the default quota for output, in one session.
func TestDefaultQuotasLetHonestAgentsAlone(t *testing.T) {
	m := NewManager(nil)
	highest := uint64(1 << 62)
	add := func() error {
		term := outputOf(m.options.keep(m.options.outputLimit(&highest)))
		term.id, term.session = m.ids.next("s"), "s"
		return m.register(term, settings{})
	}
	for range 256 {
		require.NoError(t, add())
	}
	require.ErrorIs(t, add(), ErrQuota)
}

// Sixteen pending creates of the highest size are within the default quota, and no seventeenth is.
func TestDefaultQuotaOfPendingCreates(t *testing.T) {
	h := NewHandler(NewManager(nil), nil)
	add := func() work { return h.reserveCreateBytes(CreateTerminalRequest{}, h.options.maxCreateBytes()) }
	for range 16 {
		require.IsType(t, start{}, add())
	}
	refused, ok := add().(refusal)
	require.True(t, ok)
	require.ErrorIs(t, refused.err, ErrQuota)
	h.releaseCreateBytes(1)
	require.IsType(t, refusal{}, add())
	h.releaseCreateBytes(h.options.maxCreateBytes())
	require.IsType(t, start{}, add())
}
