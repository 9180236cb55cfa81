//go:build unix

package main

// The host as a process of its own, told to end, or killed.

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// startHost starts a host in whose job a command stays, and returns when that runs and the agent knows it, with its
// number. A command that is still being created is killed at once.
func startHost(t *testing.T, c config, command string) (host *exec.Cmd, out *bytes.Buffer, pid int) {
	file := filepath.Join(t.TempDir(), "pid")
	out = new(bytes.Buffer)
	host = exec.Command(self(), "host", "-state", c.state, "-rules", c.rules)
	host.Stdin = strings.NewReader(jobLines(t, nil, map[string]string{"j": command + " " + file}))
	host.Stdout, host.Stderr = out, os.Stderr
	require.NoError(t, host.Start())
	t.Cleanup(func() { // if the test has failed
		host.Process.Kill()
		host.Wait()
	})
	require.Eventually(t, func() bool {
		data, _ := os.ReadFile(file)
		pid, _ = strconv.Atoi(string(data))
		_, err := os.Stat(file + ".created")
		return pid > 0 && err == nil
	}, time.Minute, time.Millisecond)
	return host, out, pid
}

// lives reports whether a process runs that this one may signal.
func lives(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// SIGTERM ends the host with all that its agents run, each of which is asked first.
func TestSIGTERM(t *testing.T) {
	c := newConfig(t)
	host, out, pid := startHost(t, c, "stay")
	require.NoError(t, host.Process.Signal(syscall.SIGTERM))
	require.NoError(t, host.Wait())
	require.False(t, lives(pid))
	require.NotEmpty(t, results(t, out.Bytes())["j"].Error)
	require.Contains(t, auditOf(t, c), `"signal":"SIGTERM"`)
}
