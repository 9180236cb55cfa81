package lawtest

// Trees on Linux: processes that only Linux can find, process information from /proc, and cgroups.

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/acpterm/acpterm/internal/linuxtest"
	"github.com/stretchr/testify/require"
)

var nasty = []string{
	"ignores-sigterm", "grandchild-ignores-sigterm", "setsid", "setsid-silent-naked", "daemon", "naked-daemon-with-output",
	"holds-the-output", "forks", "stops-itself", "polite",
}

// inTime lists the children whose trees are found only if someone looks in time.
var inTime map[string]bool

func stateOf(pid int) string { return hosttest.StatOf(pid)[0] }

// A process that shares neither the environment, the output, the parent nor the session is a stranger, unless it is in
// a cgroup.
func TestOnlyACgroupFindsTheVanished(t *testing.T) {
	parent := linuxtest.CgroupDir(t)
	m := hosttest.NewManager(t, &acpterm.Options{Commands: acpterm.CommandOptions{Escalation: quickly}, Cgroup: parent})
	for _, child := range append([]string{"vanished"}, nasty...) {
		term := hosttest.Create(t, m, hosttest.ChildRequest(child))
		require.Equal(t, filepath.Join(parent, string(term.ID())), term.Info().Cgroup)
		tree := here().SaidOrRuns(t, term)
		require.NoError(t, term.Kill(t.Context()))
		here().RequireGone(t, tree)
	}
	require.NoError(t, m.Close())
	entries, err := os.ReadDir(parent)
	require.NoError(t, err)
	for _, entry := range entries {
		require.False(t, entry.IsDir(), "%s is left", entry.Name())
	}

	// Without one it lives. Should this ever fail, the documentation has good news to tell.
	without := hosttest.NewManager(t, &acpterm.Options{Commands: acpterm.CommandOptions{Escalation: quickly}})
	term := hosttest.Create(t, without, hosttest.ChildRequest("vanished"))
	tree := here().Said(t, term)
	require.NoError(t, term.Kill(t.Context()))
	for pid, started := range tree {
		if started != "" && hosttest.StartTime(pid) == started {
			t.Logf("process %d vanished, as it must", pid)
			require.NoError(t, syscall.Kill(pid, syscall.SIGKILL)) // ours, as its pid and start time show
		}
	}
}

func TestACgroupThatCannotBeHadIsAnError(t *testing.T) {
	m := hosttest.NewManager(t, &acpterm.Options{Cgroup: filepath.Join(t.TempDir(), "missing")})
	_, err := m.Create(t.Context(), hosttest.ChildRequest("sleep"), nil)
	require.ErrorIs(t, err, acpterm.ErrInternal)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// BenchmarkKillTreeOf50 ends a tree of 50 processes, with few and with a thousand others on the machine.
func BenchmarkKillTreeOf50(b *testing.B) {
	tree := func(m *acpterm.Manager, processes int) *acpterm.Terminal {
		line := fmt.Sprintf("for i in $(seq %d); do sleep 3600 & done; echo ready; wait", processes-1)
		return hosttest.CreateReady(b, m, shellRequest(line))
	}
	for _, others := range []int{0, 1000} {
		b.Run(fmt.Sprintf("others=%d", others), func(b *testing.B) {
			m := hosttest.NewManager(b, nil)
			if others > 0 {
				tree(m, others)
			}
			for b.Loop() {
				b.StopTimer()
				term := tree(m, 50)
				b.StartTimer()
				require.NoError(b, term.Kill(b.Context()))
				b.StopTimer()
				require.NoError(b, m.Release(b.Context(), "s", term.ID()))
				b.StartTimer()
			}
		})
	}
}
