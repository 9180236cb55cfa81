package acptermtest_test

// Commands are looked up, started, signalled and ended like real commands.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/journal"
)

func create(t *testing.T, m *acpterm.Manager, command string, args ...string) *acpterm.Terminal {
	t.Helper()
	term, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: command, Args: args}, nil)
	require.NoError(t, err)
	return term
}

// bubble runs a test in a synctest bubble, with a manager.
func bubble(t *testing.T, o acpterm.Options, test func(*testing.T, *acpterm.Manager)) {
	synctest.Test(t, func(t *testing.T) { test(t, acptermtest.NewManager(t, &o)) })
}

func TestWhichScriptIsStarted(t *testing.T) {
	named := func(name string) acptermtest.Script { return acptermtest.Print(name, 0) }
	some := acptermtest.Commands{"go": named("go"), "go test ./...": named("test"), `ls "a b"`: named("list"),
		"npm test && git diff": named("line"), "/opt/x": named("x"), "./build.sh": named("build"), "sh": named("sh")}
	for _, c := range []struct {
		commands  acptermtest.Commands
		noCwd     bool
		command   string
		args      []string
		path      string
		shellLine string
		output    string
		err       error
	}{
		{commands: some, command: "go", path: "/usr/bin/go", output: "go"},
		{commands: some, command: "go", args: []string{"vet"}, path: "/usr/bin/go", output: "go"},
		{commands: some, command: "go", args: []string{"test", "./..."}, path: "/usr/bin/go", output: "test"},
		{commands: some, command: "/usr/local/go/bin/go", path: "/usr/local/go/bin/go", output: "go"},
		{commands: some, command: "ls", args: []string{"a b"}, path: "/usr/bin/ls", output: "list"},
		{commands: some, command: "ls", args: []string{"b"}, err: acpterm.ErrInternal},
		{commands: some, command: "npm test && git diff", path: "/usr/bin/sh", shellLine: "npm test && git diff", output: "line"},
		{commands: some, command: "go test ./...", path: "/usr/bin/sh", shellLine: "go test ./...", output: "test"},
		{commands: some, command: "other line", path: "/usr/bin/sh", shellLine: "other line", output: "sh"},
		{commands: some, command: "/opt/x", path: "/opt/x", output: "x"},
		{commands: some, command: "./build.sh", path: "/project/build.sh", output: "build"},
		{commands: some, command: "npm", args: []string{"x"}, err: acpterm.ErrInternal},
		{commands: some, command: "cargo", err: acpterm.ErrCommandNotFound},
		{commands: acptermtest.Commands{"*": named("any")}, command: "cargo", path: "/usr/bin/cargo", output: "any"},
		{commands: acptermtest.Commands{"*": named("any")}, command: "cargo a", path: "/usr/bin/sh", shellLine: "cargo a", output: "any"},
		{commands: some, noCwd: true, command: "./build.sh", path: "/build.sh", output: "build"},
		{commands: nil, command: "go", err: acpterm.ErrCommandNotFound},
		{commands: nil, command: "go test", err: acpterm.ErrInternal},
	} {
		bubble(t, acpterm.Options{Runner: c.commands}, func(t *testing.T, m *acpterm.Manager) {
			cwd := "/project"
			if c.noCwd {
				cwd = ""
			}
			term, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Cwd: cwd, Command: c.command, Args: c.args}, nil)
			if c.err != nil {
				require.ErrorIs(t, err, c.err, c.command)
				return
			}
			require.NoError(t, err, c.command)
			term.Wait(t.Context())
			require.Equal(t, c.output, term.Output().Output, c.command)
			require.Equal(t, c.path, term.Command().Path)
			require.Equal(t, c.shellLine, term.Command().ShellLine)
			require.Equal(t, cwd, term.Command().Dir)
		})
	}
}

// If a command has no script, the error names the missing key.
func TestErrorsNameTheMissingKey(t *testing.T) {
	some := acptermtest.Commands{"go test ./...": acptermtest.Print("", 0)}
	bubble(t, acpterm.Options{Runner: some}, func(t *testing.T, m *acpterm.Manager) {
		for command, want := range map[string]string{
			"cargo":  `"cargo": command not found: acptermtest: it is in no key of Commands`,
			"go vet": `acptermtest: no key of Commands is "go vet"`,
		} {
			_, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: command}, nil)
			require.ErrorContains(t, err, want)
		}
	})
}

func TestHowScriptsEnd(t *testing.T) {
	stops := func(p *acptermtest.Process) int {
		p.Catch(syscall.SIGTERM)
		fmt.Fprint(p, p.Await() == syscall.SIGTERM)
		return 3
	}
	for _, c := range []struct {
		name   string
		script acptermtest.Script
		status string
		output string
		grace  time.Duration
	}{
		{"code", acptermtest.Print("out", 300), "exit code 300", "out", 0},
		{"negative code", acptermtest.Print("", -1), "exit code 4294967295", "", 0},
		{"first signal", acptermtest.Block, "signal SIGTERM", "", 0},
		{"asleep", func(p *acptermtest.Process) int { p.Sleep(time.Hour); return 0 }, "signal SIGTERM", "", 0},
		{"catches the signal", stops, "exit code 3", "true", 0},
		{"ignores the signal", func(p *acptermtest.Process) int {
			p.Ignore(syscall.SIGTERM)
			p.Sleep(time.Hour)
			return 0
		}, "signal SIGKILL", "", 5 * time.Second},
		{"awaits another signal", func(p *acptermtest.Process) int {
			p.Catch(syscall.SIGINT)
			p.Await()
			return 0
		}, "signal SIGTERM", "", 0},
		{"writes after the signal", func(p *acptermtest.Process) int {
			<-p.Context().Done()
			fmt.Fprint(p, "not written")
			return 0
		}, "signal SIGTERM", "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, acpterm.Options{
				Runner: acptermtest.Commands{"x": c.script},
			}, func(t *testing.T, m *acpterm.Manager) {
				term := create(t, m, "x")
				synctest.Wait()
				begin := time.Now()
				require.NoError(t, term.Kill(t.Context()))
				require.Equal(t, c.grace, time.Since(begin))
				status, err := term.Wait(t.Context())
				require.NoError(t, err)
				require.Equal(t, c.status, status.String())
				require.Equal(t, c.output, term.Output().Output)
			})
		})
	}
}

func TestCaughtSignals(t *testing.T) {
	var got []syscall.Signal
	both := func(p *acptermtest.Process) int {
		p.Catch(syscall.SIGINT, syscall.SIGTERM)
		got = append(got, p.Await())
		p.Sleep(time.Minute) // the next signal arrives meanwhile
		got = append(got, p.Await())
		return 0
	}
	o := acpterm.Options{Runner: acptermtest.Commands{"x": both}, Commands: acpterm.CommandOptions{Escalation: []acpterm.EscalationStep{
		{Signal: syscall.SIGINT, Wait: time.Second}, {Signal: syscall.SIGTERM, Wait: time.Hour},
	}}}
	bubble(t, o, func(t *testing.T, m *acpterm.Manager) {
		term := create(t, m, "x")
		synctest.Wait()
		require.NoError(t, term.Kill(t.Context()))
		require.Equal(t, []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}, got)
	})
}

func TestChildrenHoldTheOutput(t *testing.T) {
	parent := func(p *acptermtest.Process) int {
		p.Spawn(func(p *acptermtest.Process) int {
			for {
				p.Sleep(time.Second)
				fmt.Fprint(p, "child ")
			}
		})
		fmt.Fprint(p, "parent ")
		return 0
	}
	bubble(t, acpterm.Options{Runner: acptermtest.Commands{"x": parent}}, func(t *testing.T, m *acpterm.Manager) {
		term := create(t, m, "x")
		status, err := term.Wait(t.Context())
		require.NoError(t, err)
		require.Equal(t, "exit code 0", status.String())
		require.Equal(t, "parent ", term.Output().Output)
		time.Sleep(2500 * time.Millisecond)
		require.Equal(t, "parent child child ", term.Output().Output)
		followed := 0
		go func() {
			for range term.Follow(t.Context(), 0) {
				followed++
			}
			followed = -followed
		}()
		synctest.Wait()
		require.Positive(t, followed)
		require.NoError(t, term.Kill(t.Context()))
		synctest.Wait()
		require.Negative(t, followed, "the last process closes the output")
	})
}

// launchRunner passes each start request to a function.
type launchRunner struct {
	acpterm.Runner
	launched func(acpterm.StartRequest)
}

func (r launchRunner) Start(ctx context.Context, l acpterm.StartRequest) (acpterm.Process, error) {
	r.launched(l)
	return r.Runner.Start(ctx, l)
}

// A script that ignores its context survives a kill and a release, but the release closes its output.
func TestScriptThatNothingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		blocked := acptermtest.Commands{"x": func(*acptermtest.Process) int { <-free; return 0 }}
		var output io.Writer
		survivors := make(chan []int, 2)
		m := acptermtest.NewManager(t, &acpterm.Options{
			Runner: launchRunner{blocked, func(l acpterm.StartRequest) { output = l.Output }},
		})
		m.Observe(func(e acpterm.Event) {
			if e, ok := e.(*acpterm.SurvivorsEvent); ok {
				survivors <- e.Survivors
			}
		})
		killed := create(t, m, "x")
		err := killed.Kill(t.Context())
		require.ErrorIs(t, err, acpterm.ErrSurvivors)
		failure, _ := errors.AsType[*acpterm.Error](err)
		require.Len(t, failure.PIDs, 1)
		require.Equal(t, failure.PIDs, <-survivors)

		released := create(t, m, "x")
		_, err = output.Write([]byte("before"))
		require.NoError(t, err)
		require.ErrorIs(t, m.Release(t.Context(), "s", released.ID()), acpterm.ErrSurvivors)
		_, err = output.Write([]byte("after"))
		require.ErrorIs(t, err, os.ErrClosed)
		require.Equal(t, "before", released.Output().Output)

		close(free)
		_, err = killed.Wait(t.Context())
		require.NoError(t, err)
	})
}

func TestScriptSeesItsCommand(t *testing.T) {
	var seen acpterm.Command
	see := func(p *acptermtest.Process) int { seen = p.Command(); return 0 }
	bubble(t, acpterm.Options{
		Runner:   acptermtest.Commands{"x": see},
		Commands: acpterm.CommandOptions{Env: []string{"A=1"}},
	}, func(t *testing.T, m *acpterm.Manager) {
		term, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{
			SessionID: "s", Command: "x", Args: []string{"y"}, Cwd: "/a/../b", Env: []acpterm.EnvVariable{{Name: "B", Value: "2"}},
		}, nil)
		require.NoError(t, err)
		term.Wait(t.Context())
		require.Equal(t, term.Command(), seen)
		require.Equal(t, "/b", seen.Dir)
		require.Equal(t, []string{"x", "y"}, seen.Args)
		require.Subset(t, seen.Env, []string{"A=1", "B=2", "ACPTERM_TERMINAL=" + string(term.ID())})
	})
}

func TestCommandsAreNotInTheJournal(t *testing.T) {
	dir := t.TempDir()
	bubble(t, acpterm.Options{
		Runner:  acptermtest.Commands{"x": acptermtest.Block},
		Journal: journal.Dir(dir),
	}, func(t *testing.T, m *acpterm.Manager) {
		create(t, m, "x")
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, entries)
	})
}

func TestPIDsAreOfNoProcess(t *testing.T) {
	var pids []int
	o := acpterm.Options{Runner: acptermtest.Commands{"x": acptermtest.Print("", 0)}}
	bubble(t, o, func(t *testing.T, m *acpterm.Manager) {
		m.Observe(func(e acpterm.Event) {
			if e, ok := e.(*acpterm.EndEvent); ok {
				pids = append(pids, e.PID)
			}
		})
		for range 10 {
			create(t, m, "x").Wait(t.Context())
		}
		require.NoError(t, m.Close())
		slices.Sort(pids)
		require.Len(t, slices.Compact(pids), 10)
		require.Greater(t, pids[0], 1<<22, "larger than any of Linux")
	})
}
