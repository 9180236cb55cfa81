package main

// The far end behind OpenSSH's server.

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/sshdtest"
)

func TestRunnerOverSSH(t *testing.T) {
	t.Parallel()
	server := sshdtest.Start(t)
	helpers := t.TempDir()
	name := fmt.Sprintf("acpterm-remote-%s-%s", runtime.GOOS, runtime.GOARCH)
	require.NoError(t, os.Symlink(filepath.Join(binaries, "acpterm-remote"), filepath.Join(helpers, name)))
	for _, user := range []string{server.User, server.OtherUser} {
		if user == "" {
			continue // not root
		}
		line := strings.Join(server.CommandLine(user), " ")
		c := startClient(t, exampleAgent(), "-runner", line, "-helpers", helpers, "-prompt", "id -un; exit 4")
		c.exit(0)
		// Lines of the tool call may stand between the two.
		require.Contains(t, c.stdout.String(), "[1] | "+user+"\n")
		require.Contains(t, c.stdout.String(), "[1] = exited 4 in ")

		c = startClient(t, exampleAgent(), "-runner", line, "-helpers", helpers, "-prompt", "echo command $$; sleep 1000")
		command := c.stdout.await(t, `\| command (\d+)\n`)
		require.Equal(t, connected(), c.stderr.String(), "the helper is there")
		server.KillConnections()
		c.exit(0)
		requireEnds(t, command)
		require.Contains(t, c.stderr.String(), "\nclient: lost: ssh has ended with exit code 255")
		require.Contains(t, c.stdout.String(), "connection lost")
	}
	c := startClient(t, exampleAgent(),
		"-runner", strings.Join(server.CommandLine("acpterm-no-such-user"), " "), "-helpers", helpers, "-prompt", "x")
	c.exit(exitLost)
	require.Contains(t, c.stderr.String(), "Permission denied (publickey)")
}
