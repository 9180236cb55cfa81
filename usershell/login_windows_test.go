package usershell_test

// Tests of the environment of a new logon on Windows.

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/acpterm/acpterm/usershell"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows/registry"
)

func TestMain(m *testing.M) { hosttest.RunTests(m, nil) }

func TestLoginEnvironmentOfANewLogon(t *testing.T) {
	name := fmt.Sprintf("ACPTERM_TEST_%d", os.Getpid())
	key, _, err := registry.CreateKey(registry.CURRENT_USER, "Environment", registry.SET_VALUE)
	require.NoError(t, err)
	defer key.Close()
	require.NoError(t, key.SetStringValue(name, "of a new logon"))
	defer key.DeleteValue(name)

	l, err := usershell.LoginEnvironment(t.Context(), &usershell.LoginOptions{
		Env: append(os.Environ(), "HOST=of the host", name+"=of the host"),
	})
	require.NoError(t, err)
	require.Empty(t, l.Shell())
	require.Contains(t, l.Env(), "HOST=of the host")
	require.Contains(t, l.Env(), name+"=of a new logon")
	require.NotContains(t, l.Env(), name+"=of the host")
	requirePATHOfANewLogon(t, key)

	dir := t.TempDir()
	in, err := l.In(t.Context(), dir)
	require.NoError(t, err)
	require.Equal(t, l.Env(), in)
	_, err = l.In(t.Context(), filepath.Join(dir, "none"))
	require.ErrorIs(t, err, usershell.LoginNoDirectory)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = usershell.LoginEnvironment(ended, nil)
	require.ErrorIs(t, err, acpterm.ErrCancelled)
}

// requirePATHOfANewLogon requires the system's directories, the user's, and then the host's other ones, each once.
func requirePATHOfANewLogon(t *testing.T, user registry.Key) {
	t.Helper()
	require.NoError(t, user.SetExpandStringValue("PATH", `%SystemDrive%\of the user`))
	defer user.DeleteValue("PATH")
	l, err := usershell.LoginEnvironment(t.Context(), &usershell.LoginOptions{
		Env: []string{`path=C:\of the host;c:\Windows\System32\;C:\OF THE USER`, "SystemDrive=C:"},
	})
	require.NoError(t, err)
	var paths []string
	for _, variable := range l.Env() {
		if name, value, _ := strings.Cut(variable, "="); strings.EqualFold(name, "PATH") {
			paths = append(paths, value)
		}
	}
	require.Len(t, paths, 1)
	entries := filepath.SplitList(strings.ToLower(paths[0]))
	require.Equal(t, []string{`c:\of the user`, `c:\of the host`}, entries[len(entries)-2:])
	require.Contains(t, entries[:len(entries)-2], `c:\windows\system32`)
	require.NotContains(t, entries, `c:\windows\system32\`)
}
