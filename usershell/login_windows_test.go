package usershell_test

// Tests of the environment of a new logon on Windows.

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
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
