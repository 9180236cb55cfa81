//go:build linux || darwin || freebsd

package terminaltest

// Kills and releases of whole trees.

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/terminaltest/children"
	"github.com/stretchr/testify/require"
)

func treeTests() []test {
	return []test{
		{"NastyChildrenAreGone", TestNastyChildrenAreGone},
		{"AStoppedCommandHearsTheSignal", TestAStoppedCommandHearsTheSignal},
		{"AChildStartedOnSIGTERMIsEndedToo", TestAChildStartedOnSIGTERMIsEndedToo},
		{"BurstThenExitLosesNothing", TestBurstThenExitLosesNothing},
		{"CreateKillReleaseRaces", TestCreateKillReleaseRaces},
		{"AddRootFollowsLinks", TestAddRootFollowsLinks},
	}
}

// Said waits until a child is ready, and returns the pids that it said, with their start times.
func (p Place) Said(t testing.TB, term *acpterm.Terminal) map[int]string {
	t.Helper()
	AwaitOutput(t, term, "ready\n")
	found := make(map[int]string)
	for _, line := range strings.Fields(term.Output().Output) {
		if line != "ready" {
			found[children.Number(line)] = p.startTime(children.Number(line))
		}
	}
	require.NotEmpty(t, found)
	return found
}

// RequireGone fails if one of the processes is still there.
func (p Place) RequireGone(t testing.TB, processes map[int]string) {
	t.Helper()
	for pid, started := range processes {
		now := p.startTime(pid)
		require.False(t, now != "" && now == started, "process %d is still there", pid)
	}
}

func TestNastyChildrenAreGone(t *testing.T, p Place) {
	for _, child := range p.Nasty {
		for _, how := range []string{"kill", "release"} {
			t.Run(child+"/"+how, func(t *testing.T) {
				m := p.NewManager(t, &acpterm.Options{Escalation: quickly})
				term := Create(t, m, p.Child(child))
				tree := p.SaidOrRuns(t, term)
				if how == "kill" {
					require.NoError(t, term.Kill(t.Context()))
				} else {
					require.NoError(t, m.Release(t.Context(), "s", term.ID()))
				}
				p.RequireGone(t, tree)
				require.NoError(t, term.Kill(t.Context()), "again")
			})
		}
		if p.InTime[child] {
			continue
		}
		t.Run(child+"/at once", func(t *testing.T) { // whatever it is just doing
			m := p.NewManager(t, &acpterm.Options{Escalation: []acpterm.EscalationStep{}})
			for range 5 {
				require.NoError(t, Create(t, m, p.Child(child)).Kill(t.Context()))
			}
		})
	}
}

// SaidOrRuns is Said, for the children of other tests too, which do not say their pid.
func (p Place) SaidOrRuns(t testing.TB, term *acpterm.Terminal) map[int]string {
	t.Helper()
	AwaitOutput(t, term, "ready\n")
	if term.Output().Output == "ready\n" {
		return nil
	}
	return p.Said(t, term)
}

// A stopped command is made to go on, so that it can end in its own way.
func TestAStoppedCommandHearsTheSignal(t *testing.T, p Place) {
	m := p.NewManager(t, nil)
	term := Create(t, m, p.Child("stops-itself"))
	pids := p.Said(t, term)
	for pid := range pids {
		for !strings.Contains(p.stateOf(pid), "T") {
		}
	}
	require.NoError(t, term.Kill(t.Context()))
	require.Equal(t, uint32(9), *term.Output().ExitStatus.ExitCode)
}

func TestAChildStartedOnSIGTERMIsEndedToo(t *testing.T, p Place) {
	m := p.NewManager(t, &acpterm.Options{Escalation: askFor(300 * time.Millisecond)})
	term := Create(t, m, p.Child("starts-a-child-on-sigterm"))
	p.Said(t, term)
	require.NoError(t, term.Kill(t.Context()))
	p.RequireGone(t, p.Said(t, term))
	require.True(t, term.Output().ExitStatus.Success(), "the command itself ended in its own way")
}

// Law 2: 500 commands write 64 KiB and exit at once, while a child of theirs holds the pipe. No byte is lost.
func TestBurstThenExitLosesNothing(t *testing.T, p Place) {
	m := p.NewManager(t, &acpterm.Options{Escalation: []acpterm.EscalationStep{}})
	for range 50 { // the soak does thousands
		term := Finish(t, m, p.Child("burst"))
		require.Len(t, term.Output().Output, 64<<10)
		require.NoError(t, m.Release(t.Context(), "s", term.ID()))
	}
}

// RaceKills creates terminals, and kills and releases each by several at once.
func RaceKills(t *testing.T, m *acpterm.Manager, races int) {
	lines := []string{"exec sleep 3600", "true", "sleep 3600 & exit 3", "sleep 3600 & sleep 3600 & wait"}
	ctx := context.Background()
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := range races / 4 {
				term, err := m.Create(ctx, ShellRequest(lines[(worker+i)%4]), nil)
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
func TestCreateKillReleaseRaces(t *testing.T, p Place) {
	races := 1000
	if testing.Short() {
		races = 100
	}
	RaceKills(t, p.NewManager(t, nil), races)
}

// A root is the directory that a link led to when it was added.
func TestAddRootFollowsLinks(t *testing.T, p Place) {
	dir, other, link := p.TempDir(t), p.TempDir(t), filepath.Join(p.TempDir(t), "link")
	require.NoError(t, p.symlink(dir, link))
	m := p.NewManager(t, nil)
	require.NoError(t, m.OpenSession("s", &acpterm.SessionOptions{Roots: []string{}}))
	require.NoError(t, m.AddRoot("s", link))
	require.NoError(t, p.remove(link))
	require.NoError(t, p.symlink(other, link))
	req := p.Child("exit", "0")
	req.Cwd = dir
	Finish(t, m, req)
	req.Cwd = link
	_, err := m.Create(t.Context(), req, nil)
	require.ErrorIs(t, err, acpterm.ErrDenied)
}

// quickly is a grace that stubborn children are not worth more than.
var quickly = []acpterm.EscalationStep{{Signal: syscall.SIGTERM, Wait: 30 * time.Millisecond}}

// startTime is when a process started; empty if it is not there, or a zombie.
func (p Place) startTime(pid int) string {
	state, started := p.Process(pid)
	if strings.HasPrefix(state, "Z") || strings.HasPrefix(state, "X") {
		return ""
	}
	return started
}

func (p Place) stateOf(pid int) string {
	state, _ := p.Process(pid)
	return state
}
