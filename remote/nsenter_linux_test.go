package remote_test

// Commands in the namespaces of another process.

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/leaktest"
	"github.com/acpterm/acpterm/remote"
)

// With nsenter, commands run in all namespaces of a process, and a kill ends their trees there. They get the variables of
// Command.Env only. A host builds the helper by remote.Build.
func TestNsenter(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root enters namespaces")
	}
	dir := t.TempDir()
	t.Setenv("SECRET_OF_THE_HOST", "secret")
	other := exec.Command("unshare", "-m", "-u", "-p", "--fork", "--kill-child", "--mount-proc", "sh", "-c",
		`hostname inside; mount -t tmpfs tmpfs "$0"; echo ready; exec cat`, dir)
	_, out := leaktest.StartPiped(t, other)
	_, err := io.ReadFull(out, make([]byte, len("ready\n")))
	require.NoError(t, err)
	number := strconv.Itoa(other.Process.Pid)
	children, err := os.ReadFile(filepath.Join("/proc", number, "task", number, "children"))
	require.NoError(t, err)

	target := strings.TrimSpace(string(children))
	r, err := remote.NewRunner(remote.Options{
		Transport: remote.Command{
			Args: []string{"nsenter", "--target", target, "--all", "sh"},
			Env:  []string{"PATH=/usr/bin:/bin", "HOME=/", "INSIDE=yes"},
		},
		Helpers: os.DirFS(remote.BuiltForTests(t)), Dir: dir,
	})
	require.NoError(t, err)
	t.Cleanup(func() { r.Close() })
	m, err := acpterm.NewManager(&acpterm.Options{Runner: r})
	require.NoError(t, err)
	t.Cleanup(func() { m.Close() })
	run := func(line string) *acpterm.Terminal {
		term, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{
			SessionID: "s", Command: "sh", Args: []string{"-c", line},
		}, nil)
		require.NoError(t, err)
		return term
	}
	term := run("hostname; readlink /proc/self >/dev/null && echo has /proc")
	_, err = term.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, "inside\nhas /proc\n", term.Output().Output)

	term = run("env")
	_, err = term.Wait(t.Context())
	require.NoError(t, err)
	require.Contains(t, term.Output().Output, "INSIDE=yes\n")
	require.NotContains(t, term.Output().Output, "SECRET_OF_THE_HOST")

	term = run("setsid sleep 600 & echo started; wait")
	for range term.Follow(t.Context(), 0) {
		break
	}
	err = term.Kill(t.Context())
	require.NoError(t, err)
	left := run("ps -e -o args= | grep -c '^sleep 600'")
	_, err = left.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, "0\n", left.Output().Output, "processes that are left")
	require.Empty(t, func() []os.DirEntry { entries, _ := os.ReadDir(dir); return entries }(), "the helper is inside")
}
