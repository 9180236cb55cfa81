package acptermtest_test

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
)

func TestMachine(t *testing.T) {
	full := errors.New("the process table is full")
	exceed := func(p *acptermtest.Process) int {
		if p.Limits().CPUTime == 90*time.Second {
			p.Raise(syscall.Signal(24)) // SIGXCPU
		}
		return 0
	}
	machine := acptermtest.Machine{
		Commands: acptermtest.Commands{"pwd": acptermtest.Print("x", 0), "spin": exceed, "npm ci": acptermtest.Print("ci", 0)},
		Dir:      "/home/me", Env: []string{"HOME=/home/me"}, NoLimits: []string{"Memory"},
		StartErrors: map[string]error{
			"npm": full, "script": &acpterm.Error{Kind: acpterm.ErrNotExecutable, Field: "command", Reason: "no interpreter"},
		},
	}
	bubble(t, acpterm.Options{Runner: machine}, func(t *testing.T, m *acpterm.Manager) {
		term := create(t, m, "pwd")
		require.Equal(t, "/home/me", term.Command().Dir)
		require.Contains(t, term.Command().Env, "HOME=/home/me")

		try := func(command string, o *acpterm.CommandOptions) (*acpterm.Terminal, error) {
			return m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: command}, o)
		}
		term, err := try("spin", &acpterm.CommandOptions{Limits: &acpterm.Limits{CPUTime: 90 * time.Second, OpenFiles: 7}})
		require.NoError(t, err)
		require.Equal(t, []acpterm.EnforcedLimit{
			{Name: "CPUTime", Value: 90, By: "acptermtest"}, {Name: "OpenFiles", Value: 7, By: "acptermtest"},
		}, term.Info().Limits)
		status, err := term.Wait(t.Context())
		require.NoError(t, err)
		require.Nil(t, status.ExitCode)
		_, err = try("spin", &acpterm.CommandOptions{Limits: &acpterm.Limits{Memory: 1}})
		require.ErrorIs(t, err, acpterm.ErrInternal)
		require.Equal(t, "Limits.Memory", err.(*acpterm.Error).Field)

		_, err = try("npm", nil)
		require.ErrorIs(t, err, full)
		require.ErrorIs(t, err, acpterm.ErrInternal)
		_, err = try("script", nil)
		require.ErrorIs(t, err, acpterm.ErrNotExecutable)
		_, err = try("cargo", nil)
		require.ErrorIs(t, err, acpterm.ErrCommandNotFound)
		require.Equal(t, []string{"npm", "ci"}, create(t, m, "npm", "ci").Command().Args)
	})
	machine.BaseError = &acpterm.Error{Kind: acpterm.ErrConnectionLost}
	bubble(t, acpterm.Options{Runner: machine}, func(t *testing.T, m *acpterm.Manager) {
		_, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "pwd"}, nil)
		require.ErrorIs(t, err, acpterm.ErrConnectionLost)
	})
}

// IdleTimeout ends a command whose scripts only wait, and no other.
func TestIdleCommands(t *testing.T) {
	prints := func(p *acptermtest.Process) int {
		for range 100 {
			p.Sleep(time.Minute)
			fmt.Fprintln(p, "here")
		}
		return 0
	}
	works := func(*acptermtest.Process) int { time.Sleep(time.Hour); return 0 }
	o := acpterm.Options{Commands: acpterm.CommandOptions{IdleTimeout: 10 * time.Minute}, Runner: acptermtest.Commands{
		"block": acptermtest.Block, "print": prints, "work": works,
		"leave": func(p *acptermtest.Process) int { p.Spawn(works); return acptermtest.Block(p) },
	}}
	bubble(t, o, func(t *testing.T, m *acpterm.Manager) {
		began := time.Now()
		idle, kept := create(t, m, "block"), []*acpterm.Terminal{create(t, m, "print"), create(t, m, "work")}
		parent := create(t, m, "leave")
		synctest.Wait()
		list, err := parent.Processes(t.Context())
		require.ErrorIs(t, err, errors.ErrUnsupported)
		pid := parent.Info().PID
		require.Equal(t, []acpterm.ProcessInfo{
			{PID: pid, Command: "leave"}, {PID: pid + 1, Parent: pid, Command: "leave", Runnable: true},
		}, list)
		<-idle.Done()
		require.Equal(t, acpterm.EndedByIdle, idle.EndedBy())
		require.Less(t, time.Since(began), 13*time.Minute)
		for _, term := range kept {
			<-term.Done()
			require.Equal(t, acpterm.EndedByItself, term.EndedBy())
		}
		require.Equal(t, acpterm.EndedByIdle, parent.EndedBy())
		<-parent.Gone()
		list, err = parent.Processes(t.Context())
		require.NoError(t, err)
		require.Empty(t, list)
	})
}

// The same client runs git, and its script. The test names what the client forgets to release.
func TestWithGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	version, err := exec.Command("git", "--version").Output()
	require.NoError(t, err)
	script := acptermtest.Machine{Commands: acptermtest.Commands{"git --version": acptermtest.Print(string(version), 0)}}
	for _, runner := range []acpterm.Runner{nil, script} {
		m := acptermtest.NewManager(t, &acpterm.Options{
			Runner: runner,
			CommandsFor: func(_ acpterm.SessionID, c acpterm.Command) *acpterm.CommandOptions {
				return &acpterm.CommandOptions{OutputByteLimit: map[string]int64{"git": 3}[filepath.Base(c.Path)]}
			},
		})
		term := create(t, m, "git", "--version")
		status, err := term.Wait(t.Context())
		require.NoError(t, err)
		require.True(t, status.Success())
		require.Equal(t, string(version[len(version)-3:]), term.Output().Output)
		r := &failureRecorder{TB: t}
		acptermtest.AllReleased(r, m)
		require.Len(t, r.failures, 1)
		require.Contains(t, r.failures[0], ` of session "s", ended: git --version`)
		require.NoError(t, m.Release(t.Context(), "s", term.ID()))
		acptermtest.AllReleased(t, m)
	}
}

// AllReleased waits for releases that follow, and names what is left.
func TestAllReleased(t *testing.T) {
	bubble(t, acpterm.Options{Runner: acptermtest.Commands{"x": acptermtest.Block}}, func(t *testing.T, m *acpterm.Manager) {
		acptermtest.AllReleased(t, m)
		one, two := create(t, m, "x", "one"), create(t, m, "x", "two")
		go func() {
			time.Sleep(time.Second)
			m.Release(t.Context(), "s", one.ID())
		}()
		r := &failureRecorder{TB: t}
		acptermtest.AllReleased(r, m)
		require.Len(t, r.failures, 1)
		require.Contains(t, r.failures[0], string(two.ID())+` of session "s", running: x two`)
		require.NotContains(t, r.failures[0], "x one")
		require.NoError(t, m.Release(t.Context(), "s", two.ID()))
		acptermtest.AllReleased(t, m)
	})
}

// NewManager reports options of CommandsFor that no create of a declared command could use.
func TestCommandsForIsChecked(t *testing.T) {
	commands := acptermtest.Commands{"good": acptermtest.Block, "bad one": acptermtest.Block, "panic": acptermtest.Block}
	for want, bad := range map[string]acpterm.CommandOptions{
		"Options.Commands.PTY": {PTY: &acpterm.PTYOptions{}}, "must not be set": {Dir: "/"},
	} {
		for _, runner := range []acpterm.Runner{commands, acptermtest.Machine{Commands: commands}} {
			synctest.Test(t, func(t *testing.T) {
				r := &failureRecorder{TB: t}
				acptermtest.NewManager(r, &acpterm.Options{
					Runner: runner,
					CommandsFor: func(_ acpterm.SessionID, c acpterm.Command) *acpterm.CommandOptions {
						switch c.String() {
						case "bad one":
							return &bad
						case "panic":
							panic("no such session")
						}
						return &acpterm.CommandOptions{Timeout: time.Second}
					},
				})
				failures := r.end()
				require.Equal(t, 1, strings.Count(failures, "CommandsFor"), failures)
				require.Contains(t, failures, `"bad one"`)
				require.Contains(t, failures, want)
			})
		}
	}
}
