package runctest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/racetest"
	"github.com/acpterm/acpterm/internal/runctest"
)

func TestMain(m *testing.M) { racetest.Main(m) }

// A shell in the container has its own processes, root directory and home directory.
func TestExec(t *testing.T) {
	c := runctest.Start(t)
	line := c.CommandLine()
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Stdin = strings.NewReader("cd && pwd && hostname && cat /proc/1/cmdline && echo x > /tmp/file")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, "/root\nrunctest\ncat\x00", string(out))
	content, err := os.ReadFile(filepath.Join(c.Root, "tmp/file"))
	require.NoError(t, err)
	require.Equal(t, "x\n", string(content))
}

// The end of the container ends its processes.
func TestStop(t *testing.T) {
	c := runctest.Start(t)
	line := c.CommandLine("sleep", "1000")
	cmd := exec.Command(line[0], line[1:]...)
	require.NoError(t, cmd.Start())
	c.Stop()
	require.Error(t, cmd.Wait())
	line = c.CommandLine("true")
	require.Error(t, exec.Command(line[0], line[1:]...).Run())
}
