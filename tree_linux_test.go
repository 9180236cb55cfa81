package acpterm_test

// Trees on Linux: what is found there and nowhere else, what /proc knows of a process, and cgroups.

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/stretchr/testify/require"
)

var nasty = []string{
	"ignores-sigterm", "grandchild-ignores-sigterm", "setsid", "setsid-silent-naked", "daemon", "naked-daemon-with-output",
	"holds-the-output", "forks", "stops-itself", "polite",
}

// inTime are the children whose trees are found only if somebody looks in time.
var inTime map[string]bool

// startTime is when a process started, in clock ticks after the machine; empty if it is not there, or a zombie.
func startTime(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if fields[0] == "Z" || fields[0] == "X" {
		return ""
	}
	return fields[19]
}

// stateOf is what /proc says of a process; empty if it is not there.
func stateOf(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	return strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))[0]
}

// What has neither environment nor output nor parent nor session left is a stranger, but for a cgroup.
func TestOnlyACgroupFindsTheVanished(t *testing.T) {
	parent := cgroupDir(t)
	m := newManager(t, &acpterm.Options{Escalation: quickly, Cgroup: parent})
	for _, child := range append([]string{"vanished"}, nasty...) {
		term := create(t, m, childRequest(child))
		tree := saidOrRuns(t, term)
		require.NoError(t, term.Kill(t.Context()))
		requireGone(t, tree)
	}
	require.NoError(t, m.Close())
	entries, err := os.ReadDir(parent)
	require.NoError(t, err)
	for _, entry := range entries {
		require.False(t, entry.IsDir(), "%s is left", entry.Name())
	}

	// Without one it lives. Should this ever fail, the documentation has good news to tell.
	without := newManager(t, &acpterm.Options{Escalation: quickly})
	term := create(t, without, childRequest("vanished"))
	tree := said(t, term)
	require.NoError(t, term.Kill(t.Context()))
	for pid, started := range tree {
		if started != "" && startTime(pid) == started {
			t.Logf("process %d vanished, as it must", pid)
			require.NoError(t, syscall.Kill(pid, syscall.SIGKILL)) // ours: its pid and start time say so
		}
	}
}

func TestACgroupThatCannotBeHadIsAnError(t *testing.T) {
	m := newManager(t, &acpterm.Options{Cgroup: filepath.Join(t.TempDir(), "missing")})
	_, err := m.Create(t.Context(), childRequest("sleep"))
	require.ErrorIs(t, err, acpterm.ErrInternal)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// cgroupDir makes a cgroup v2 directory, which takes the right to do so.
func cgroupDir(t testing.TB) string {
	mounts, err := os.ReadFile("/proc/self/mounts")
	require.NoError(t, err)
	for line := range strings.Lines(string(mounts)) {
		if fields := strings.Fields(line); fields[2] == "cgroup2" {
			dir, err := os.MkdirTemp(fields[1], "acpterm-test-")
			if err != nil {
				t.Skipf("no cgroup can be made here: %v", err)
			}
			t.Cleanup(func() { require.NoError(t, os.Remove(dir)) })
			return dir
		}
	}
	t.Skip("no cgroup v2 is mounted here")
	return ""
}
