package journal_test

// The journal of several managers, and crashes while a release ends a tree.

import (
	"context"
	"encoding/json"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/acpterm/acpterm/journal"
)

// releaseMark is the first argument of the test binary when it runs as a host that is releasing a terminal.
const releaseMark = "journal-test-release"

// obstinate says when it gets SIGTERM. It and its child continue to run.
const obstinate = `trap "" TERM; sleep 300 & trap "echo asked" TERM; echo $! ready; while :; do wait; done`

// runReleasingHost is runHost with a manager for each line. It begins to release the terminal of the first line,
// obstinate, and writes the terminals once the line has got its SIGTERM.
func runReleasingHost(dir string, lines []string) {
	var all []hosted
	for i, line := range lines {
		m := hosttest.Must(acpterm.NewManager(&acpterm.Options{Journal: journal.Dir(dir), Commands: acpterm.CommandOptions{
			Escalation: []acpterm.EscalationStep{{Signal: syscall.SIGTERM, Wait: time.Hour}},
		}}))
		term, terminal := createReady(m, line)
		all = append(all, terminal)
		if i == 0 {
			go m.Release(context.Background(), "s", terminal.ID)
			readUntil(term, "asked\n")
		}
	}
	json.NewEncoder(os.Stdout).Encode(all)
	time.Sleep(5 * time.Minute)
}

func TestRecoverAfterACrashDuringARelease(t *testing.T) {
	dir := t.TempDir()
	h := startHostAs(t, releaseMark, dir, "", obstinate, newSession)
	require.Len(t, fileNames(t, dir), 2, "the release has not ended its tree")
	recovered, err := journal.Recover(t.Context(), dir)
	require.NoError(t, err)
	require.Empty(t, recovered, "the host runs")
	h.kill(t)
	requireRunning(t, h.tree)

	recovered, err = recoverQuickly(t, dir)
	require.NoError(t, err)
	requireGone(t, h.tree)
	require.Empty(t, fileNames(t, dir))
	ended := make(map[acpterm.TerminalID][]int)
	for _, r := range recovered {
		require.Equal(t, h.command.Process.Pid, r.HostPID)
		ended[r.TerminalID] = r.Ended
	}
	require.Len(t, ended, 2, "a terminal of each manager")
	for _, terminal := range h.terminals {
		require.Subset(t, ended[terminal.ID], pidsOf(terminal.Tree))
	}
}
