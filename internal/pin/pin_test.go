package pin_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/pin"
	"github.com/acpterm/acpterm/internal/racetest"
)

func TestMain(m *testing.M) { racetest.Main(m) }

// realDir returns the path of a new directory, without symbolic links.
func realDir(t *testing.T) string {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	return dir
}

func write(t *testing.T, path, text string) string {
	require.NoError(t, os.WriteFile(path, []byte(text), 0o700))
	return path
}

func TestAFileIsNoticedThatIsAnother(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, dir, file string){
		"removed": func(t *testing.T, _, file string) { require.NoError(t, os.Remove(file)) },
		"replaced": func(t *testing.T, dir, file string) {
			require.NoError(t, os.Rename(write(t, filepath.Join(dir, "other"), "good"), file))
		},
		"grown": func(t *testing.T, _, file string) { write(t, file, "good and more") },
		"a link": func(t *testing.T, dir, file string) {
			require.NoError(t, os.Rename(file, filepath.Join(dir, "other")))
			if err := os.Symlink("other", file); err != nil {
				t.Skipf("no links can be made here: %v", err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := realDir(t)
			file := write(t, filepath.Join(dir, "program"), "good")
			f, err := pin.Stat(file)
			require.NoError(t, err)
			require.True(t, f.Unchanged())
			change(t, dir, file)
			require.False(t, f.Unchanged())
		})
	}
}

func TestADirectoryIsNoticedThatIsAnother(t *testing.T) {
	parent := realDir(t)
	dir := filepath.Join(parent, "dir")
	require.NoError(t, os.Mkdir(dir, 0o700))
	d, err := pin.OpenDir(dir)
	require.NoError(t, err)
	defer d.Close()
	require.True(t, d.Unchanged())
	write(t, filepath.Join(dir, "file"), "what is in it does not count")
	require.True(t, d.Unchanged())

	require.NoError(t, os.Rename(dir, filepath.Join(parent, "moved")))
	require.False(t, d.Unchanged())
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.False(t, d.Unchanged())
	if runtime.GOOS == "linux" {
		require.FileExists(t, filepath.Join(d.Path(), "file"), "the path leads to the directory that was opened")
	} else {
		require.Equal(t, dir, d.Path())
	}
}

func TestNothingIsPinnedThatIsNotThere(t *testing.T) {
	missing := filepath.Join(realDir(t), "missing")
	_, err := pin.Stat(missing)
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = pin.OpenDir(missing)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.False(t, pin.File{}.Unchanged())
}

func TestContentsAreComparedWithThoseOfTheInterpreters(t *testing.T) {
	dir := realDir(t)
	script := write(t, filepath.Join(dir, "script"), "#!outer -x\n")
	write(t, filepath.Join(dir, "outer"), "#! "+filepath.Join(dir, "inner")+"\n")
	inner := write(t, filepath.Join(dir, "inner"), "good")
	v := pin.NewVerifier()
	contents, unverified, err := v.Read(t.Context(), script, dir)
	require.NoError(t, err)
	require.Empty(t, unverified)
	unchanged := func() bool {
		same, err := v.Unchanged(t.Context(), contents)
		require.NoError(t, err)
		return same
	}
	require.True(t, unchanged())
	info, err := os.Stat(inner)
	require.NoError(t, err)
	write(t, inner, "evil")
	require.NoError(t, os.Chtimes(inner, info.ModTime(), info.ModTime()))
	require.False(t, unchanged(), "its size and its time of modification are as before")
}

func TestLargeFilesAreNotVerified(t *testing.T) {
	file := write(t, filepath.Join(realDir(t), "large"), "")
	require.NoError(t, os.Truncate(file, pin.MaxVerifiedSize+1))
	v := pin.NewVerifier()
	contents, unverified, err := v.Read(t.Context(), file, "")
	require.NoError(t, err)
	require.Equal(t, []string{file}, unverified)
	same, err := v.Unchanged(t.Context(), contents)
	require.NoError(t, err)
	require.True(t, same)
}

func TestAReadEndsWithItsContext(t *testing.T) {
	file := write(t, filepath.Join(realDir(t), "program"), "good")
	v := pin.NewVerifier()
	contents, _, err := v.Read(t.Context(), file, "")
	require.NoError(t, err)
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	_, _, err = v.Read(ctx, file, "")
	require.ErrorIs(t, err, why)
	_, err = v.Unchanged(ctx, contents)
	require.ErrorIs(t, err, why)
	same, err := v.Unchanged(ctx, nil)
	require.NoError(t, err)
	require.True(t, same, "no contents are unchanged")
}
