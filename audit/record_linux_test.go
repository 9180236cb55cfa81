package audit_test

import (
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/audit"
)

// Record and Close fail on the kernel's full device, without naming it.
func TestDevFull(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer full.Close()
	log := audit.New(full)
	for range 3 {
		err := log.Record(t.Context(), allowed)
		require.ErrorIs(t, err, syscall.ENOSPC)
		require.NotContains(t, err.Error(), "/dev/full")
	}
	require.ErrorIs(t, log.Close(), syscall.ENOSPC)
}
