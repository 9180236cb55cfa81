//go:build unix

package main

// -login-env, with a login shell whose start-up file the tests write.

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// withProfile makes sh the person's login shell, with a start-up file.
func withProfile(t *testing.T, text string) {
	home := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(home, ".profile"), []byte(text), 0o600))
	t.Setenv("HOME", home)
	t.Setenv("SHELL", "/bin/sh")
}

func TestLoginEnvironment(t *testing.T) {
	withProfile(t, "echo noise; export OF_LOGIN='of the login shell'")
	for _, flags := range [][]string{nil, {"-login-env"}} {
		c := startClient(t, exampleAgent(), append(flags, "-prompt", `echo "it is ${OF_LOGIN-not there}"`)...)
		c.exit(0)
		want := "it is not there"
		if flags != nil {
			want = "it is of the login shell"
		}
		require.Contains(t, c.stdout.String(), want)
		require.NotContains(t, c.stdout.String(), "noise")
		require.Empty(t, c.stderr.String())
	}
}

func TestLoginEnvironmentThatCannotBeRead(t *testing.T) {
	withProfile(t, "exit 3")
	c := startClient(t, exampleAgent(), "-login-env", "-prompt", "echo runs all the same")
	c.exit(0)
	require.Contains(t, c.stdout.String(), "runs all the same")
	require.Contains(t, c.stderr.String(), `acpterm: login environment: "/bin/sh": `)
	require.Contains(t, c.stderr.String(), "exit code 3")
}

func TestInterruptEndsTheLoginShell(t *testing.T) {
	file := filepath.Join(t.TempDir(), "runs")
	withProfile(t, "echo $$ >"+file+".new; mv "+file+".new "+file+"; sleep 300")
	c := startClient(t, exampleAgent(), "-login-env", "-prompt", "echo x")
	awaitMade(t, file)
	c.signal(os.Interrupt)
	c.exit(exitInterrupted)
	pid, err := os.ReadFile(file)
	require.NoError(t, err)
	requireGone(t, string(pid[:len(pid)-1]))
}
