//go:build linux || darwin || freebsd

package lawtest

// Plain text for agents from programs that write colours, or hold their output back.

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/display"
	"github.com/acpterm/acpterm/internal/hosttest"
)

// The agent reads git's colours as plain text, and the user sees them.
func TestPlainOutputOfGit(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a": "é one\n", "b": "é two\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	m := hosttest.NewManager(t, &acpterm.Options{Commands: acpterm.CommandOptions{
		PlainOutput: true, Dir: dir,
		Env: append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null"),
	}})
	term := hosttest.Finish(t, m, hosttest.CommandRequest("git", "diff", "--no-index", "--color=always", "a", "b"))
	var followed strings.Builder
	for chunk := range term.Follow(t.Context(), 0) {
		followed.WriteString(chunk.Raw)
	}
	require.Contains(t, followed.String(), "\x1b[31m-")
	require.Contains(t, term.Output().Output, "\n-é one\n+é two\n")
	require.Equal(t, display.StripANSI(followed.String()), term.Output().Output)
}

// Python's output arrives while it runs.
func TestPythonDoesNotBuffer(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil && os.Getenv("ACPTERM_REQUIRE_PYTHON") == "" {
		t.Skip("there is no python3")
	}
	require.NoError(t, err)
	m := hosttest.NewManager(t, nil)
	term := hosttest.Create(t, m, hosttest.CommandRequest(python, "-c", "print('begin'); import time; time.sleep(1000)"))
	hosttest.AwaitOutput(t, term, "begin\n")
	require.Nil(t, term.ExitStatus())
}
