//go:build unix

package lookup

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A host's directory is the one that PWD names, if it is that, as a shell's user knows it.
func TestHostDir(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(dir, link))
	t.Chdir(dir)
	for pwd, want := range map[string]string{dir: dir, link: link, "/": dir, "": dir, "elsewhere": dir} {
		t.Setenv("PWD", pwd)
		got, err := HostDir()
		require.NoError(t, err)
		require.Equal(t, want, got, pwd)
	}
}
