//go:build unix

package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// With -shell, lines run in that shell.
func TestShell(t *testing.T) {
	t.Parallel()
	c := startClient(t, exampleAgent(), "-shell", "bash", "-prompt", `x=(a b); [[ -n $x ]] && echo "<${x[1]}>"; exit 5`)
	c.exit(0)
	require.Contains(t, c.stdout.String(), "[1] | <b>\n")
	require.Contains(t, c.stdout.String(), "[1] = exited 5 in ")
	require.Empty(t, c.stderr.String())
}
