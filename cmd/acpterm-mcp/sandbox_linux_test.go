package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSandboxOfTheProgram(t *testing.T) {
	if _, err := exec.LookPath("bwrap"); err != nil && os.Getenv("ACPTERM_REQUIRE_BUBBLEWRAP") == "" {
		t.Skip("bwrap is not installed")
	}
	// Not below /tmp, which is another directory in the sandbox.
	outside, err := os.MkdirTemp("/var/tmp", "outside")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(outside) })
	require.NoError(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o600))
	root, cache, hidden := filepath.Join(outside, "root"), filepath.Join(outside, "cache"), filepath.Join(outside, "secret")
	require.NoError(t, os.Mkdir(root, 0o777))
	require.NoError(t, os.Mkdir(cache, 0o777))
	s, _ := connectTo(t, nil, "-root", root, "-others", "allow", "-sandbox", "-writable", cache, "-hidden", hidden)
	text, ok := runLine(t, s, "echo in > file && echo in > ../cache/file && cat file")
	require.True(t, ok, text)
	require.Contains(t, text, "]\nin\n")
	require.FileExists(t, filepath.Join(cache, "file"))
	text, _ = runLine(t, s, "echo out > ../file; cat ../secret")
	require.Contains(t, text, "Read-only file system")
	require.NotContains(t, text, "secret\n")
	require.NoFileExists(t, filepath.Join(outside, "file"))
}
