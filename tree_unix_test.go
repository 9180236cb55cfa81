//go:build linux || darwin || freebsd

package acpterm_test

// Law 3 against the nasty children: after a kill, and after a release, nothing of their trees is left. What has to
// be gone is known by pid and start time.

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/stretchr/testify/require"
)

// quickly is a grace that stubborn children are not worth more than.
var quickly = []acpterm.EscalationStep{{Signal: syscall.SIGTERM, Wait: 30 * time.Millisecond}}

// said waits until a child is ready, and returns the pids that it said, with their start times.
func said(t testing.TB, term *acpterm.Terminal) map[int]string {
	t.Helper()
	awaitOutput(t, term, "ready\n")
	found := make(map[int]string)
	for _, line := range strings.Fields(term.Output().Output) {
		if line != "ready" {
			found[number(line)] = startTime(number(line))
		}
	}
	require.NotEmpty(t, found)
	return found
}

// requireGone fails if one of the processes is still there.
func requireGone(t testing.TB, processes map[int]string) {
	t.Helper()
	for pid, started := range processes {
		now := startTime(pid)
		require.False(t, now != "" && now == started, "process %d is still there", pid)
	}
}

func TestNastyChildrenAreGone(t *testing.T) {
	for _, child := range nasty {
		for _, how := range []string{"kill", "release"} {
			t.Run(child+"/"+how, func(t *testing.T) {
				m := newManager(t, &acpterm.Options{Escalation: quickly})
				term := create(t, m, childRequest(child))
				tree := saidOrRuns(t, term)
				if how == "kill" {
					require.NoError(t, term.Kill(t.Context()))
				} else {
					require.NoError(t, m.Release(t.Context(), "s", term.ID()))
				}
				requireGone(t, tree)
				require.NoError(t, term.Kill(t.Context()), "again")
			})
		}
		if inTime[child] {
			continue
		}
		t.Run(child+"/at once", func(t *testing.T) { // whatever it is just doing
			m := newManager(t, &acpterm.Options{Escalation: []acpterm.EscalationStep{}})
			for range 5 {
				require.NoError(t, create(t, m, childRequest(child)).Kill(t.Context()))
			}
		})
	}
}

// saidOrRuns is said, for the children of other tests too, which do not say their pid.
func saidOrRuns(t testing.TB, term *acpterm.Terminal) map[int]string {
	t.Helper()
	awaitOutput(t, term, "ready\n")
	if term.Output().Output == "ready\n" {
		return nil
	}
	return said(t, term)
}

// A stopped command is made to go on, so that it can end in its own way.
func TestAStoppedCommandHearsTheSignal(t *testing.T) {
	m := newManager(t, nil)
	term := create(t, m, childRequest("stops-itself"))
	pids := said(t, term)
	for pid := range pids {
		for !strings.Contains(stateOf(pid), "T") {
		}
	}
	require.NoError(t, term.Kill(t.Context()))
	require.Equal(t, uint32(9), *term.Output().ExitStatus.ExitCode)
}

func TestAChildStartedOnSIGTERMIsEndedToo(t *testing.T) {
	m := newManager(t, &acpterm.Options{Escalation: []acpterm.EscalationStep{{Signal: syscall.SIGTERM, Wait: 300 * time.Millisecond}}})
	term := create(t, m, childRequest("starts-a-child-on-sigterm"))
	said(t, term)
	require.NoError(t, term.Kill(t.Context()))
	requireGone(t, said(t, term))
	require.True(t, term.Output().ExitStatus.Success(), "the command itself ended in its own way")
}

func TestAShellWithJobControl(t *testing.T) {
	bash, err := exec.LookPath("bash")
	require.NoError(t, err)
	m := newManager(t, &acpterm.Options{Escalation: quickly})
	term := create(t, m, commandRequest(bash, "-c", "set -m; (trap '' TERM; sleep 3600) & echo $!; sleep 3600 & "+
		"echo $!; (sleep 3600 | sleep 3600) & echo $!; echo $$; echo ready; wait"))
	tree := said(t, term)
	require.Len(t, tree, 4)
	require.NoError(t, term.Kill(t.Context()))
	requireGone(t, tree)
}

// Law 2: 500 commands write 64 KiB and exit at once, while a child of theirs holds the pipe. No byte is lost.
func TestBurstThenExitLosesNothing(t *testing.T) {
	m := newManager(t, &acpterm.Options{Escalation: []acpterm.EscalationStep{}})
	for range 50 { // the soak does thousands
		term := finish(t, m, childRequest("burst"))
		require.Len(t, term.Output().Output, 64<<10)
		require.NoError(t, m.Release(t.Context(), "s", term.ID()))
	}
}

// raceKills creates terminals, and kills and releases each by several at once.
func raceKills(t *testing.T, m *acpterm.Manager, races int) {
	lines := []string{"exec sleep 3600", "true", "sleep 3600 & exit 3", "sleep 3600 & sleep 3600 & wait"}
	ctx := context.Background()
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := range races / 4 {
				term, err := m.Create(ctx, shellRequest(lines[(worker+i)%4]), nil)
				if err != nil {
					t.Error(err)
					return
				}
				var race sync.WaitGroup
				race.Go(func() { term.Kill(ctx) })
				race.Go(func() { term.Wait(ctx) })
				if i%2 == 0 {
					race.Go(func() { m.Release(ctx, "s", term.ID()) })
				}
				race.Wait()
				if err := m.Release(ctx, "s", term.ID()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	require.Empty(t, m.Terminals())
}

// newManager looks for what is left.
func TestCreateKillReleaseRaces(t *testing.T) {
	races := 1000
	if testing.Short() {
		races = 100
	}
	raceKills(t, newManager(t, nil), races)
}

// A root is the directory that a link led to when it was added.
func TestAddRootFollowsLinks(t *testing.T) {
	dir, other, link := realTempDir(t), realTempDir(t), filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(dir, link))
	m := newManager(t, nil)
	require.NoError(t, m.OpenSession("s", &acpterm.SessionOptions{Roots: []string{}}))
	require.NoError(t, m.AddRoot("s", link))
	require.NoError(t, os.Remove(link))
	require.NoError(t, os.Symlink(other, link))
	req := childRequest("exit", "0")
	req.Cwd = dir
	finish(t, m, req)
	req.Cwd = link
	_, err := m.Create(t.Context(), req, nil)
	require.ErrorIs(t, err, acpterm.ErrDenied)
}
