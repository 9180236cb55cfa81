package acpterm

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Sixteen pending creates of the highest size are within the default quota. Sending them would take too long for a
// test.
func TestDefaultQuotaOfPendingCreates(t *testing.T) {
	var o HandlerOptions
	require.Equal(t, 16*o.maxCreateBytes(), o.maxPendingCreateBytes())
}
