package remote

// Copying the helper to full file systems, and removing old helpers.

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/remote/internal/frame"
	"github.com/stretchr/testify/require"
)

// onFullDisks returns a shell that sees a file system of 64 KiB in each of the directories. Its mount namespace ends
// with it.
func onFullDisks(t testing.TB, shell Command, dirs ...string) Command {
	if os.Getuid() != 0 {
		t.Skip("only root mounts file systems")
	}
	line := `exec "$@"`
	for _, dir := range dirs {
		require.NoError(t, os.MkdirAll(dir, 0o700))
		line = fmt.Sprintf("mount -t tmpfs -o size=64k,mode=700 tmpfs '%s' && %s", dir, line)
	}
	shell.Args = append([]string{"unshare", "-m", "sh", "-c", line, "sh"}, shell.Args...)
	return shell
}

// If the cache directory is full, the helper is copied to the temporary directory, and found there.
func TestBootstrapFullCache(t *testing.T) {
	leaveNothing(t)
	for name, shell := range withBusyBoxAlone(t, shells(t)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home, tmp := t.TempDir(), t.TempDir()
			program := scriptHelper(t, frame.Version, strings.Repeat("x", 1<<20))
			shell.Env = append(slices.Clone(shell.Env), "XDG_CACHE_HOME=", "HOME="+home, "TMPDIR="+tmp)
			copies := 0
			options := Options{
				Transport: onFullDisks(t, shell, filepath.Join(home, ".cache")),
				Helpers:   helpers(program),
				Progress: func(p Progress) {
					if p.Step == StepCopying && p.Copied == p.Size {
						copies++
					}
				},
			}
			for range 2 {
				r := newRunner(t, options)
				require.NoError(t, r.Connect(testContext(t)))
				shell := r.link.connection.stream.ReadWriteCloser.(*commandProcess)
				cache := fmt.Sprintf("/proc/%d/root%s/.cache", shell.cmd.Process.Pid, home)
				require.Empty(t, filesIn(t, cache), "the unfinished copy")
				require.NoError(t, r.Close())
			}
			own := fmt.Sprintf("acpterm-%d", os.Getuid())
			require.Equal(t, []string{filepath.Join(tmp, own, hashOf(program), "acpterm-remote")}, filesIn(t, tmp))
			require.Equal(t, 2, copies, "one that failed, and one that the second connection has found")
		})
	}
}

// If no directory has room, the error names all of them, and the system's reasons.
func TestBootstrapFullDisks(t *testing.T) {
	home, tmp := t.TempDir(), t.TempDir()
	program := scriptHelper(t, frame.Version, strings.Repeat("x", 1<<20))
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + tmp}
	sh := Command{Args: []string{"sh"}, Env: env}
	full := onFullDisks(t, sh, filepath.Join(home, ".cache"), tmp)
	err := newRunner(t, Options{Transport: full, Helpers: helpers(program)}).Connect(testContext(t))
	require.ErrorIs(t, err, acpterm.ErrConnectionLost)
	require.ErrorContains(t, err, "no program can be put into "+filepath.Join(home, ".cache/acpterm")+" (")
	require.ErrorContains(t, err, "or "+filepath.Join(tmp, "acpterm-"))
	require.Equal(t, 2, strings.Count(err.Error(), "No space left on device"), err)

	full = onFullDisks(t, sh, tmp)
	err = newRunner(t, Options{Transport: full, Helpers: helpers(program), Dir: tmp}).Connect(testContext(t))
	require.ErrorContains(t, err, "no program can be put into "+tmp+" (")
	require.Equal(t, 1, strings.Count(err.Error(), "No space left on device"), err)
}

// A copy removes helpers that no connection has used for 30 days, and nothing else. Their processes go on.
func TestBootstrapRemovesOldHelpers(t *testing.T) {
	dir := t.TempDir()
	program, err := fs.ReadFile(realHelpers(t), helperName+"-"+runtime.GOOS+"-"+runtime.GOARCH)
	require.NoError(t, err)
	place := func(name string) string { return filepath.Join(dir, name, "acpterm-remote") }
	put := func(name string, days int) string {
		require.NoError(t, os.MkdirAll(filepath.Dir(place(name)), 0o700))
		require.NoError(t, os.WriteFile(place(name), []byte(name), 0o700))
		age(t, place(name), days)
		return place(name)
	}
	sh := Command{Args: []string{"sh"}}
	connected := func(program []byte) *Runner {
		r := newRunner(t, Options{Transport: sh, Helpers: helpers(program), Dir: dir})
		require.NoError(t, r.Connect(testContext(t)))
		return r
	}
	running, used := connected(program), append(slices.Clone(program), "used"...)
	require.NoError(t, connected(used).Close())
	age(t, place(hashOf(program)), 40)
	age(t, place(hashOf(used)), 40)
	require.NoError(t, connected(used).Close())

	newest := append(slices.Clone(program), "newest"...)
	kept := []string{
		place(hashOf(used)), place(hashOf(newest)), put(strings.Repeat("1", 64), 20), put("another-program", 40),
	}
	put(strings.Repeat("0", 64), 40)
	require.NoError(t, connected(newest).Close())
	require.ElementsMatch(t, kept, filesIn(t, dir))
	require.NoDirExists(t, filepath.Join(dir, strings.Repeat("0", 64)))
	_, err = running.RealDir(testContext(t), "/")
	require.NoError(t, err, "a helper that runs")
}

// age sets the time of a file to days ago.
func age(t testing.TB, file string, days int) {
	then := time.Now().AddDate(0, 0, -days)
	require.NoError(t, os.Chtimes(file, then, then))
}
