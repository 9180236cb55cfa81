package usershell_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows/registry"

	"github.com/acpterm/acpterm/usershell"
)

// git-bash is the bash.exe next to the git.exe in PATH.
func TestGitBash(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{
		`Git\cmd\git.exe`, `Git\bin\bash.exe`, `Git\usr\bin\bash.exe`, `Deep\bin\bash.exe`, `Deep\mingw64\bin\git.exe`,
		`None\git.exe`, `a\cmd.exe`,
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	for entry, want := range map[string]string{
		`Git\cmd`: `Git\bin\bash.exe`, `Git\bin`: "", `Deep\mingw64\bin`: `Deep\bin\bash.exe`, "None": "", "a": "",
	} {
		t.Setenv("PATH", filepath.Join(dir, entry))
		got, err := usershell.KnownShell("git-bash")
		if want == "" {
			require.Error(t, err, entry)
			continue
		}
		require.NoError(t, err, entry)
		require.Equal(t, filepath.Join(dir, want), got.Program)
	}
	// A program that was started before the installation finds git by the registry.
	t.Setenv("PATH", filepath.Join(dir, "None"))
	key, _, err := registry.CreateKey(registry.CURRENT_USER, "Environment", registry.SET_VALUE)
	require.NoError(t, err)
	defer key.Close()
	require.NoError(t, key.SetStringValue("PATH", filepath.Join(dir, `Git\cmd`)))
	defer key.DeleteValue("PATH")
	got, err := usershell.KnownShell("git-bash")
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, `Git\bin\bash.exe`), got.Program)
}
