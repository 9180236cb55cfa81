package shell_test

import (
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/policy/shell"
	"github.com/stretchr/testify/require"
)

// With a Runner, this system's files are not the files of the line.
func TestFilesOfARunner(t *testing.T) {
	m := acptermtest.NewManager(t, &acpterm.Options{
		Runner:   acptermtest.Commands{"sh": acptermtest.Print("", 0), "cat": acptermtest.Print("", 0)},
		Policy:   shell.NewPolicy(acpterm.Policies{}, &shell.Options{ReadFiles: true, WriteFiles: true}),
		Commands: acpterm.CommandOptions{ShellLines: acpterm.ShellAlways},
	})
	require.NoError(t, m.OpenSession("s", &acpterm.SessionOptions{Roots: []string{t.TempDir()}}))
	for line, want := range map[string]bool{"cat": true, "cat < /dev/null": true, "cat < x": false, "cat > x": false} {
		may, reason := mayRun(t, m, acpterm.CreateTerminalRequest{Command: line})
		require.Equal(t, want, may, "%s: %s", line, reason)
	}
}
