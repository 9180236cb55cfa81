//go:build unix

package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Without -journal, there is one in the user's state directory. Servers that run at the same time share it: a start
// ends only what a dead one left behind.
func TestTheDefaultJournal(t *testing.T) {
	state, dir, other := t.TempDir(), t.TempDir(), t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	killed, s := startPiped(t, nil, "-root", dir, "-others", "allow")
	runStubborn(t, s)
	living, _ := connectTo(t, nil, "-root", other, "-others", "allow")
	_, pid := leaveServer(t, living)
	require.NoError(t, killed.Process.Kill())
	s.Close()
	killed.Wait()
	_, messages := connectTo(t, nil, "-root", dir, "-others", "allow")
	requireSays(t, messages, "that an earlier run left behind: trap")
	requireGone(t, dir)
	require.NoError(t, syscall.Kill(pid, 0))
	journals, err := filepath.Glob(filepath.Join(state, "acpterm", "journal-*"))
	require.NoError(t, err)
	require.Len(t, journals, 1)
}

func TestTheDefaultJournalIsWhereCommandsCannotWrite(t *testing.T) {
	root, run := t.TempDir(), t.TempDir()
	t.Setenv("XDG_STATE_HOME", filepath.Join(root, "state"))
	t.Setenv("XDG_RUNTIME_DIR", run)
	s, messages := connectTo(t, nil, "-root", root, "-others", "allow")
	_, ok := runLine(t, s, "true")
	require.True(t, ok)
	require.Empty(t, messages.String())
	require.NoDirExists(t, filepath.Join(root, "state"))
	require.DirExists(t, filepath.Join(run, "acpterm"))

	t.Setenv("XDG_RUNTIME_DIR", "")
	s, messages = connectTo(t, nil, "-root", root, "-others", "allow")
	_, ok = runLine(t, s, "true")
	require.True(t, ok)
	requireSays(t, messages, "no journal is kept")
	requireSays(t, messages, "where commands may write")
	require.NoDirExists(t, filepath.Join(root, "state"))

	s, messages = connectTo(t, nil, "-root", root, "-others", "allow", "-journal", "")
	_, ok = runLine(t, s, "true")
	require.True(t, ok)
	require.Empty(t, messages.String())
}

// A file that is no record, or a full disk, must not keep the server from starting.
func TestABrokenDefaultJournalIsReported(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	name, err := journalName()
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(state, "acpterm", name, "directory"), 0o700))
	s, messages := connectTo(t, nil, "-root", t.TempDir(), "-others", "allow")
	_, ok := runLine(t, s, "true")
	require.True(t, ok)
	requireSays(t, messages, "directory: not a file")
}
