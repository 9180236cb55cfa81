//go:build unix

package main

import (
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// leaveServer runs a line that ends, and returns its id and the PID of the server that it leaves running.
func leaveServer(t *testing.T, s *mcp.ClientSession) (id string, pid int) {
	t.Helper()
	text, ok := runLine(t, s, "sleep 1000 & echo $!")
	for ok && strings.Contains(text, "timed_out") { // the machine is slow
		text, ok = runLine(t, s, "sleep 1000 & echo $!")
	}
	require.True(t, ok, text)
	require.Contains(t, text, "exit code 0")
	pid, err := strconv.Atoi(regexp.MustCompile(`(?m)^[0-9]+$`).FindString(text))
	require.NoError(t, err, text)
	return regexp.MustCompile(`\[(\w+) `).FindStringSubmatch(text)[1], pid
}

func requireEnds(t *testing.T, pid int) {
	t.Helper()
	require.Eventually(t, func() bool { return syscall.Kill(pid, 0) == syscall.ESRCH }, time.Minute, 10*time.Millisecond)
}

func TestAServerInTheBackgroundOutlivesItsLine(t *testing.T) {
	s, _ := connectTo(t, nil, "-root", t.TempDir(), "-others", "allow")
	id, pid := leaveServer(t, s)
	require.NoError(t, syscall.Kill(pid, 0))
	_, ok := call(t, s, "release", object{"id": id})
	require.True(t, ok)
	requireEnds(t, pid)
	_, pid = leaveServer(t, s)
	require.NoError(t, s.Close())
	requireEnds(t, pid)
}

func TestTheTimeoutEndsWhatACommandLeftRunning(t *testing.T) {
	s, _ := connectTo(t, nil, "-root", t.TempDir(), "-others", "allow", "-timeout", "3s")
	released, first := leaveServer(t, s)
	_, ok := call(t, s, "release", object{"id": released}) // stops its timer
	require.True(t, ok)
	requireEnds(t, first)
	id, pid := leaveServer(t, s)
	requireEnds(t, pid)
	text, ok := call(t, s, "output", object{"id": id})
	require.True(t, ok)
	require.Contains(t, text, "exit code 0") // the line itself was in time
}
