package journal_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/journal"
)

// A process whose number may be another's by now is not recorded: Recover would take it for the command.
func TestAReapedLeaderIsNotRecorded(t *testing.T) {
	dir := t.TempDir()
	d := journal.Dir(dir)
	record := journal.Record{Terminal: "term_01ARZ3NDEKTSV4RRFFQ69G5FAV", Session: "s"}
	size := func() int {
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		require.NoError(t, err)
		require.Len(t, files, 1)
		data, err := os.ReadFile(files[0])
		require.NoError(t, err)
		return len(data)
	}
	require.NoError(t, d.Write(record))
	before := size()
	require.NoError(t, d.AddLeader(record.Terminal, os.Getpid(), func() bool { return false }))
	require.Equal(t, before, size())
	require.NoError(t, d.AddLeader(record.Terminal, os.Getpid(), func() bool { return true }))
	require.Greater(t, size(), before)
}
