//go:build unix

package lookup

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A host's directory is the one named by PWD, if PWD is correct, as a shell's user knows it.
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

// The interpreter of the host's shell is never found in a relative entry of PATH, whatever this process's directory
// contains.
func TestInterpreter(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "bin"), 0o700))
	for _, name := range []string{"shell", "bin/shell", "bin/other"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o700))
	}
	t.Chdir(dir)
	for _, path := range []string{"", ".", "bin", ":", "/nonexistent:bin:."} {
		_, err := Interpreter("shell", []string{"PATH=" + path})
		require.ErrorIs(t, err, fs.ErrNotExist, path)
	}
	_, err := Interpreter("shell", nil)
	require.ErrorIs(t, err, fs.ErrNotExist)
	got, err := Interpreter("shell", []string{"PATH=.:" + dir + "/bin:" + dir})
	require.NoError(t, err)
	require.Equal(t, dir+"/bin/shell", got)
	got, err = Interpreter(dir+"/bin/other", nil)
	require.NoError(t, err)
	require.Equal(t, dir+"/bin/other", got)
}
