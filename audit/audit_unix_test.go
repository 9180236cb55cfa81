//go:build unix

package audit_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/audit"
)

// Open takes the rights to an existing file from other users, or refuses the file.
func TestOpenKeepsOthersOut(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "open")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, os.Chmod(path, 0o666))
	log, err := audit.Open(path)
	require.NoError(t, err)
	require.NoError(t, log.Close())
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())

	refused := func(path, why string) {
		t.Helper()
		log, err := audit.Open(path)
		require.Nil(t, log)
		require.ErrorContains(t, err, why)
	}
	require.NoError(t, os.Link(path, filepath.Join(dir, "link")))
	refused(path, "another hard link")
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	refused(filepath.Join(dir, "fifo"), "") // without a reader
	before, err := os.Stat(os.DevNull)
	require.NoError(t, err)
	refused(os.DevNull, "not a regular file")
	after, err := os.Stat(os.DevNull)
	require.NoError(t, err)
	require.Equal(t, before.Mode(), after.Mode())
	if os.Geteuid() == 0 {
		other := filepath.Join(dir, "other")
		require.NoError(t, os.WriteFile(other, nil, 0o600))
		require.NoError(t, os.Chown(other, 1, 1))
		refused(other, "belongs to another user")
	}
}

// Open resolves the symbolic links in paths and roots, and does not trust links inside a root, which can change.
func TestOpenInARootByLinks(t *testing.T) {
	dir := t.TempDir()
	root, state := filepath.Join(dir, "root"), filepath.Join(dir, "state")
	for _, d := range []string{root, state} {
		require.NoError(t, os.Mkdir(d, 0o700))
	}
	for name, target := range map[string]string{
		"to-root": root, "state/file-in-root": filepath.Join(root, "file"),
		"root/to-state": state, "root/file-in-state": filepath.Join(state, "file"),
	} {
		require.NoError(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	for _, path := range []string{
		"to-root/file", "root/file", "state/file-in-root", "root/file-in-state", "root/to-state/file",
	} {
		for _, name := range []string{"root", "to-root"} {
			_, err := audit.Open(filepath.Join(dir, path), filepath.Join(dir, name))
			require.Error(t, err, path)
			require.NoFileExists(t, filepath.Join(root, "file"))
			require.NoFileExists(t, filepath.Join(state, "file"))
		}
	}
	require.NoError(t, os.Symlink(filepath.Join(state, "file"), filepath.Join(dir, "to-file")))
	require.NoError(t, os.WriteFile(filepath.Join(state, "file"), nil, 0o600))
	log, err := audit.Open(filepath.Join(dir, "to-file"), filepath.Join(dir, "to-root"))
	require.NoError(t, err)
	require.NoError(t, log.Close())
}
