package acpterm_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/audit"
	"github.com/stretchr/testify/require"
)

// The kernel's full disk.
func TestDevFull(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer full.Close()
	log := audit.New(full)
	m := newManager(t, &acpterm.Options{Record: log.Record})
	ran := filepath.Join(t.TempDir(), "ran")
	for range 3 {
		_, err = m.Create(t.Context(), childRequest("flood-and-touch", "0", ran))
		require.ErrorIs(t, err, acpterm.ErrInternal)
		require.ErrorIs(t, err, syscall.ENOSPC)
		require.NotContains(t, err.Error(), "/dev/full")
	}
	require.NoError(t, m.Close())
	require.NoFileExists(t, ran)
	require.ErrorIs(t, log.Close(), syscall.ENOSPC)
}
