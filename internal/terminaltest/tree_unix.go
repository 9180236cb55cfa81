//go:build linux || darwin || freebsd

package terminaltest

// Kills and releases of whole trees.

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/longtest"
	"github.com/acpterm/acpterm/internal/terminaltest/children"
)

func treeTests() []test {
	return []test{
		{"NastyChildrenAreGone", TestNastyChildrenAreGone},
		{"CleanUpIsLeftAlone", TestCleanUpIsLeftAlone},
		{"BurstThenExitLosesNothing", TestBurstThenExitLosesNothing},
		{"CreateKillReleaseRaces", TestCreateKillReleaseRaces},
		{"AddRootFollowsLinks", TestAddRootFollowsLinks},
	}
}

// Said waits until a child is ready, and returns the pids it printed, with their start times.
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

// RequireGone fails if one of the processes still exists.
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
				m := p.NewManager(t, &acpterm.Options{Commands: acpterm.CommandOptions{Escalation: Quickly}})
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
		t.Run(child+"/at once", func(t *testing.T) { // at any point of its execution
			m := p.NewManager(t, &acpterm.Options{
				Commands: acpterm.CommandOptions{Escalation: Quickly[1:]},
			})
			for range 5 {
				require.NoError(t, Create(t, m, p.Child(child)).Kill(t.Context()))
			}
		})
	}
}

// SaidOrRuns is Said, but also accepts children of other tests, which do not print their pid.
func (p Place) SaidOrRuns(t testing.TB, term *acpterm.Terminal) map[int]string {
	t.Helper()
	AwaitOutput(t, term, "ready\n")
	if term.Output().Output == "ready\n" {
		return nil
	}
	return p.Said(t, term)
}

// CleanUp returns a line of sh that creates a lock and prints "ready". On any of the given signals ("TERM HUP") it runs
// a few programs, as git, npm and apt do, removes the lock, and exits with 7. Its child prints "ready" after execve:
// before that, it has this shell's trap, and loses the signal.
func CleanUp(lock, signals string) string {
	return fmt.Sprintf(`trap 'for i in 1 2 3; do sleep 0.03 || exit 1; done; rm "%[1]s" && exit 7' %[2]s; : >"%[1]s"
		sh -c 'echo ready; exec sleep 300' & wait; exit 1`, lock, signals)
}

// endings are the ways to end a command gracefully.
var endings = map[string]func(*testing.T, *acpterm.Manager, *acpterm.Terminal, *acpterm.Handler) error{
	"kill": func(t *testing.T, _ *acpterm.Manager, term *acpterm.Terminal, _ *acpterm.Handler) error {
		return term.Kill(t.Context())
	},
	"release": func(t *testing.T, m *acpterm.Manager, term *acpterm.Terminal, _ *acpterm.Handler) error {
		return m.Release(t.Context(), "s", term.ID())
	},
	"end of the session": func(t *testing.T, m *acpterm.Manager, _ *acpterm.Terminal, _ *acpterm.Handler) error {
		return m.CloseSession(t.Context(), "s")
	},
	"end of the connection": func(_ *testing.T, _ *acpterm.Manager, _ *acpterm.Terminal, h *acpterm.Handler) error {
		return h.Close()
	},
	"shutdown": func(t *testing.T, m *acpterm.Manager, _ *acpterm.Terminal, _ *acpterm.Handler) error {
		return m.Shutdown(t.Context())
	},
	"timeout": func(t *testing.T, _ *acpterm.Manager, term *acpterm.Terminal, _ *acpterm.Handler) error {
		_, err := term.Wait(t.Context())
		return err
	},
}

// Programs started by a command for its clean-up after the signal do not receive it.
func TestCleanUpIsLeftAlone(t *testing.T, p Place) {
	p.needsAsking(t)
	for how, end := range endings {
		t.Run(how, func(t *testing.T) {
			m := p.NewManager(t, &acpterm.Options{Commands: acpterm.CommandOptions{Escalation: askFor(time.Hour)}})
			h := acpterm.NewHandler(m, nil)
			lock := filepath.Join(p.TempDir(t), "lock")
			params, err := json.Marshal(ShellRequest(CleanUp(lock, "TERM")))
			require.NoError(t, err)
			start := func(timeout time.Duration) *acpterm.Terminal {
				require.NoError(t, m.OpenSession("s", &acpterm.SessionOptions{
					Commands: acpterm.CommandOptions{Timeout: timeout},
				}))
				created, err := h.Dispatch(t.Context(), acpterm.MethodCreate, params)
				require.NoError(t, err)
				term, err := m.Terminal("s", created.(acpterm.CreateTerminalResponse).TerminalID)
				require.NoError(t, err)
				return term
			}
			var term *acpterm.Terminal
			if how == "timeout" { // the timeout must be long enough for the command to become ready
				timeout := 250 * time.Millisecond
				for term = start(timeout); !isReadyInTime(t, term); term = start(timeout) {
					require.NoError(t, m.CloseSession(t.Context(), "s"))
					timeout *= 2
				}
			} else {
				term = start(0)
				AwaitOutput(t, term, "ready")
			}
			require.NoError(t, end(t, m, term, h))
			require.Equal(t, "exit code 7", term.ExitStatus().String())
			require.NoFileExists(t, p.path(lock))
		})
	}
}

// isReadyInTime reports whether a command prints "ready" before it ends.
func isReadyInTime(t *testing.T, term *acpterm.Terminal) bool {
	for chunk := range term.Follow(t.Context(), 0) {
		if strings.Contains(chunk.Text, "ready") {
			return true
		}
	}
	return false
}

// Law 2: 500 commands write 64 KiB and exit immediately, while their child holds the pipe. No byte is lost.
func TestBurstThenExitLosesNothing(t *testing.T, p Place) {
	m := p.NewManager(t, &acpterm.Options{Commands: acpterm.CommandOptions{Escalation: Quickly[1:]}})
	for range longtest.Times(15, 50) { // the soak does thousands
		term := Finish(t, m, p.Child("burst"))
		require.Len(t, term.Output().Output, 64<<10)
		require.NoError(t, m.Release(t.Context(), "s", term.ID()))
	}
}

// RaceKills creates terminals, and kills and releases each of them from several goroutines at once.
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

// NewManager looks for leaks.
func TestCreateKillReleaseRaces(t *testing.T, p Place) {
	RaceKills(t, p.NewManager(t, nil), longtest.Times(100, 1000))
}

// A root is the target of a symbolic link at the time it was added.
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

// Quickly has a short grace period, because stubborn children use all of it. Killed ones may take long, beside a load.
var Quickly = []acpterm.EscalationStep{
	{Signal: syscall.SIGTERM, Wait: 30 * time.Millisecond}, {Signal: syscall.SIGKILL, Wait: time.Minute},
}

// startTime returns the start time of a process, or "" if it does not exist or is a zombie.
func (p Place) startTime(pid int) string {
	state, started := p.Process(pid)
	if strings.HasPrefix(state, "Z") || strings.HasPrefix(state, "X") {
		return ""
	}
	return started
}
