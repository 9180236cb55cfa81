package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Without a shell, no line runs. The sandbox has another /bin.
func TestDoctorFailsWithoutAShell(t *testing.T) {
	bwrap, err := exec.LookPath("bwrap")
	if err != nil && os.Getenv("ACPTERM_REQUIRE_BUBBLEWRAP") == "" {
		t.Skip("bwrap is not installed")
	}
	require.NoError(t, err)
	bin, err := filepath.EvalSymlinks("/bin")
	require.NoError(t, err)
	cmd := program()
	cmd.Path, cmd.Dir = bwrap, t.TempDir()
	cmd.Args = []string{bwrap, "--dev-bind", "/", "/", "--tmpfs", bin, os.Args[0], "doctor"}
	out, err := cmd.CombinedOutput()
	require.ErrorContains(t, err, "exit status 1", "%s", out)
	require.Regexp(t, "(?m)^shells    NOT WORKING: .*/bin/sh", string(out))
	require.Contains(t, string(out), "\npage ")
}

// The sandbox is the same here and on another side, where relative paths are below the home directory.
func TestSandboxOfTheProgram(t *testing.T) {
	if _, err := exec.LookPath("bwrap"); err != nil && os.Getenv("ACPTERM_REQUIRE_BUBBLEWRAP") == "" {
		t.Skip("bwrap is not installed")
	}
	// Not below /tmp, which is another directory in the sandbox.
	outside, err := os.MkdirTemp("/var/tmp", "outside")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(outside) })
	require.NoError(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o600))
	t.Setenv("HOME", outside)
	for side, flags := range map[string][]string{
		"here":    {"-writable", outside + "/cache", "-hidden", "~/secret"},
		"another": append(onAnotherSide(t), "-writable", "cache", "-hidden", "~/secret"),
	} {
		t.Run(side, func(t *testing.T) {
			for _, dir := range []string{"root", "cache"} {
				require.NoError(t, os.RemoveAll(filepath.Join(outside, dir)))
				require.NoError(t, os.Mkdir(filepath.Join(outside, dir), 0o777))
			}
			s, _ := connectTo(t, nil, append(flags, "-root", "~/root", "-others", "allow", "-sandbox")...)
			text, ok := runLine(t, s, "echo in > file && echo in > ../cache/file && cat file")
			require.True(t, ok, text)
			require.Contains(t, text, "]\nin\n")
			require.FileExists(t, filepath.Join(outside, "cache", "file"))
			text, _ = runLine(t, s, "echo out > ../file; cat ../secret")
			require.Contains(t, text, "Read-only file system")
			require.NotContains(t, text, "secret\n")
			require.NoFileExists(t, filepath.Join(outside, "file"))
		})
	}
}
