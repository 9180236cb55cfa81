package remote

// Copying the helper to full file systems.

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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
