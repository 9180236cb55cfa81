//go:build linux || darwin || freebsd

package lawtest

// Terminals with a PTY: laws 1, 2 and 3, typed input, the size, and the environment of unattended commands.

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agent"
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/acpterm/acpterm/internal/longtest"
	"github.com/acpterm/acpterm/internal/terminaltest"
	"github.com/stretchr/testify/require"
)

// onPTY makes a command run on a PTY.
func onPTY() *acpterm.CommandOptions { return &acpterm.CommandOptions{PTY: new(acpterm.PTYOptions)} }

// When a wait returns, all output of the command is there, even if another process has the terminal open.
func TestPTYDrainIsExact(t *testing.T) {
	runs := longtest.Times(5, 300)
	for _, size := range []int{10, 3000, 60_000, 500_000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			m := hosttest.NewManager(t, nil)
			incomplete := 0
			for range runs {
				term := hosttest.Finish(t, m, hosttest.ChildRequest("pty-holder", fmt.Sprint(size)), onPTY())
				if term.OutputTotal() != int64(size) || len(term.Output().Output) != size {
					incomplete++
				}
				require.NoError(t, m.Release(t.Context(), "s", term.ID()))
			}
			require.Zero(t, incomplete, "of %d runs", runs)
		})
	}
}

func TestPTYSizeFollowsResize(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	term := hosttest.Create(t, m, hosttest.ChildRequest("size"), onPTY())
	hosttest.AwaitOutput(t, term, "24 80\r\n")
	require.NoError(t, term.Resize(132, 43))
	hosttest.AwaitOutput(t, term, "43 132\r\n")
	require.Equal(t, acpterm.TerminalSize{Columns: 132, Rows: 43}, *term.Info().Size)
	for _, size := range [][2]int{{0, 1}, {1, 0}, {-1, 5}, {5, 1001}, {1001, 5}} {
		require.ErrorIs(t, term.Resize(size[0], size[1]), acpterm.ErrInvalidParams)
	}
}

func TestPTYInput(t *testing.T) {
	var mu sync.Mutex
	typed := 0
	m := hosttest.NewManager(t, nil, func(e acpterm.Event) {
		if input, ok := e.(*acpterm.InputEvent); ok {
			mu.Lock()
			defer mu.Unlock()
			typed += input.Bytes
		}
	})
	term := hosttest.Create(t, m, shellRequest(
		`printf 'Name: '; read -r name; stty -echo; printf 'Password: '; read -r password; stty echo; `+
			`echo; echo "<$name> <$password>"`), onPTY())
	hosttest.AwaitOutput(t, term, "Name: ")
	fmt.Fprintln(term, "Grüße")
	hosttest.AwaitOutput(t, term, "Password: ")
	fmt.Fprintln(term, "secret")
	require.True(t, hosttest.AwaitExit(t, term).Success())
	require.Equal(t, "Name: Grüße\nPassword:\n<Grüße> <secret>\n", term.Output().Output)
	_, err := term.Write([]byte("late"))
	require.ErrorIs(t, err, os.ErrClosed)
	require.NoError(t, m.Close())
	require.Equal(t, len("Grüße\nsecret\n"), typed)
}

// Control characters have their usual effect on a terminal.
func TestPTYInterruptAndEndOfInput(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	term := hosttest.Create(t, m, shellRequest("echo ready; exec sleep 300"), onPTY())
	hosttest.AwaitOutput(t, term, "ready")
	fmt.Fprint(term, "\x03")
	require.Equal(t, "SIGINT", *hosttest.AwaitExit(t, term).Signal)
	term = hosttest.Create(t, m, hosttest.CommandRequest("cat"), onPTY())
	fmt.Fprint(term, "text\n\x04")
	require.True(t, hosttest.AwaitExit(t, term).Success())
	require.Equal(t, "text\ntext\n", term.Output().Output)
}

// A write that no command reads ends with the command.
func TestPTYWriteDoesNotOutliveTheCommand(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	file := filepath.Join(t.TempDir(), "go")
	line := fmt.Sprintf("stty raw; echo ready; until test -e %s; do sleep 0.01; done", file)
	term := hosttest.Create(t, m, shellRequest(line), onPTY())
	hosttest.AwaitOutput(t, term, "ready")
	written := make(chan error)
	go func() {
		var err error
		for err == nil {
			_, err = term.Write(make([]byte, 1<<20))
		}
		written <- err
	}()
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.ErrorIs(t, <-written, os.ErrClosed)
	hosttest.AwaitExit(t, term)
}

// A kill ends an interactive shell with job control, and its jobs in separate groups.
func TestPTYKillEndsAShellAndItsJobs(t *testing.T) {
	m := hosttest.NewManager(t, &acpterm.Options{
		Commands: acpterm.CommandOptions{
			Escalation: []acpterm.EscalationStep{{Signal: syscall.SIGHUP, Wait: 50 * time.Millisecond}},
		},
	})
	for _, stubborn := range []bool{false, true} {
		term := hosttest.Create(t, m, hosttest.CommandRequest("/bin/bash", "--norc", "-i"), onPTY())
		if stubborn {
			fmt.Fprintln(term, "trap '' HUP")
		}
		fmt.Fprintln(term, "sleep 301 & sleep 302 & echo $!; (trap '' HUP TERM; echo re''ady; sleep 303) | cat")
		hosttest.AwaitOutput(t, term, "ready\r\n")
		require.NoError(t, term.Kill(t.Context()))
		require.NotNil(t, term.ExitStatus())
		require.NoError(t, m.Release(t.Context(), "s", term.ID()))
	}
}

// A process can clean up after the hang-up.
func TestPTYCleanUpIsLeftAlone(t *testing.T) {
	m := hosttest.NewManager(t, &acpterm.Options{
		Commands: acpterm.CommandOptions{
			Escalation: []acpterm.EscalationStep{{Signal: syscall.SIGHUP, Wait: time.Hour}},
		},
	})
	lock := filepath.Join(t.TempDir(), "lock")
	term := hosttest.Create(t, m, shellRequest(terminaltest.CleanUp(lock, "HUP")), onPTY())
	hosttest.AwaitOutput(t, term, "ready")
	require.NoError(t, term.Kill(t.Context()))
	require.Equal(t, "exit code 7", term.ExitStatus().String())
	require.NoFileExists(t, lock)
}

// A process that ignores the hang-up gets SIGTERM.
func TestPTYKillOfWhatIgnoresTheHangUp(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	term := hosttest.Create(t, m, shellRequest("trap '' HUP; echo ready; exec sleep 300"), onPTY())
	hosttest.AwaitOutput(t, term, "ready")
	require.NoError(t, term.Kill(t.Context()))
	require.Equal(t, "SIGTERM", *term.ExitStatus().Signal)
}

// After the command's exit, a resize fails and does not change the text.
func TestPTYResizeAfterTheExit(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	term := hosttest.Finish(t, m, shellRequest(`printf '\033[?1049hone\ntwo\nthree'`), onPTY())
	for range 2 {
		require.ErrorIs(t, term.Resize(80, 2), os.ErrClosed)
		require.Equal(t, "one\ntwo\nthree", term.Output().Output)
		require.Equal(t, acpterm.TerminalSize{Columns: 80, Rows: 24}, *term.Info().Size)
		require.NoError(t, m.Release(t.Context(), "s", term.ID()))
	}
}

// The beginning of a PTY's output is the beginning of its plain text, even after it has scrolled off.
func TestPTYHead(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	req := shellRequest(`printf '\033[1mfirst\033[0m line\n'; seq 100; printf 'last\n'`)
	req.OutputByteLimit = new(uint64(5))
	agent.AskForHead(&req, 12)
	term := hosttest.Finish(t, m, req, onPTY())
	head, end := term.Head()
	require.Equal(t, "first line\n1", head)
	require.EqualValues(t, 12, end)
	out := term.Output()
	require.Equal(t, "last\n", out.Output)
	require.Equal(t, &agent.Head{Text: head, End: 12, OutputStart: 11 + 9*2 + 90*3 + 4}, agent.ReadHead(out))
}

// The memory of a screen counts against the quota.
func TestPTYCountsAgainstTheQuota(t *testing.T) {
	m := hosttest.NewManager(t, &acpterm.Options{MaxReservedBytes: 3 << 20})
	hosttest.Create(t, m, shellRequest("sleep 300"), onPTY())
	reserved := m.Stats().ReservedBytes
	require.Greater(t, reserved, int64(2<<20+80*24))
	withHead := shellRequest("sleep 300")
	withHead.OutputByteLimit = new(uint64(0))
	createWith := func(ask int64) int64 {
		agent.AskForHead(&withHead, ask)
		before := m.Stats().ReservedBytes
		hosttest.Create(t, m, withHead, onPTY())
		return m.Stats().ReservedBytes - before
	}
	require.EqualValues(t, 5000, createWith(5000)-createWith(0))
	_, err := m.Create(t.Context(), shellRequest("sleep 300"),
		&acpterm.CommandOptions{PTY: &acpterm.PTYOptions{Columns: 1000, Rows: 1000}})
	require.ErrorIs(t, err, acpterm.ErrQuota)
}

// The end of the leader hangs up the foreground, and a release ends the remaining processes.
func TestPTYLeftovers(t *testing.T) {
	m := hosttest.NewManager(t, &acpterm.Options{Commands: acpterm.CommandOptions{Escalation: quickly}})
	term := hosttest.Finish(t, m, shellRequest("(trap '' HUP; sleep 300) & (trap '' HUP; exec setsid sleep 300) & echo text"), onPTY())
	require.Equal(t, "text\n", term.Output().Output)
	require.NoError(t, term.Kill(t.Context()))
}

// A command may close the terminal and open it again. Its output has ended when it has exited.
func TestPTYIsOpenedAgain(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	term := hosttest.Finish(t, m, shellRequest("echo early; exec <&- >&- 2>&-; sleep 0.05; echo late >/dev/tty; sleep 0.05; exit 3"), onPTY())
	require.Equal(t, "early\nlate\n", term.Output().Output)
	require.Equal(t, uint32(3), *term.ExitStatus().ExitCode)
}

// Unattended commands do not wait in a pager, an editor or a prompt, and write plain text to a pipe. A request overrides
// each variable, and the environment those of plain text.
func TestUnattendedVariables(t *testing.T) {
	t.Setenv("TERM", "of-the-host")
	attended := &acpterm.CommandOptions{PTY: &acpterm.PTYOptions{Attended: true, Term: "vt100"}}
	for name, c := range map[string]struct {
		unattended []string
		terminal   *acpterm.CommandOptions
		base       []string
		env        string
		want       string
	}{
		"a pipe":              {want: "cat cat 0 77 dumb 1 1"},
		"a PTY":               {terminal: onPTY(), want: "cat cat 0  xterm-256color  1"},
		"attended":            {terminal: attended, want: "less vi   vt100"},
		"asked for":           {env: "PAGER=more", want: "more cat 0 77 dumb 1 1"},
		"a terminal asked":    {env: "TERM=x", want: "cat cat 0 77 x 1 1"},
		"colours asked for":   {env: "FORCE_COLOR=1", want: "cat cat 0 77 dumb  1"},
		"no setting asked":    {env: "NO_COLOR=", want: "cat cat 0 77 dumb  1"},
		"buffering asked for": {env: "PYTHONUNBUFFERED=", want: "cat cat 0 77 dumb 1 "},
		"of the environment":  {base: []string{"TERM=x", "NO_COLOR=", "PYTHONUNBUFFERED=2"}, want: "cat cat 0 77 x  2"},
		"colours":             {base: []string{"CLICOLOR_FORCE=1"}, want: "cat cat 0 77 dumb  1"},
		"none":                {unattended: []string{}, want: "less vi  77 of-the-host  "},
		"of the embedder's":   {unattended: []string{"PAGER=head"}, want: "head vi  77 of-the-host  "},
	} {
		t.Run(name, func(t *testing.T) {
			m := hosttest.NewManager(t, &acpterm.Options{
				Commands: acpterm.CommandOptions{
					Env: append([]string{"PATH=" + os.Getenv("PATH"), "TERM=of-the-host", "PAGER=less", "EDITOR=vi",
						"COLUMNS=77", "GIT_TERMINAL_PROMPT="}, c.base...),
					Unattended: c.unattended,
				},
			})
			req := shellRequest(`echo "$PAGER $EDITOR $GIT_TERMINAL_PROMPT $COLUMNS $TERM $NO_COLOR $PYTHONUNBUFFERED"`)
			if name, value, ok := strings.Cut(c.env, "="); ok {
				req.Env = []acpterm.EnvVariable{{Name: name, Value: value}}
			}
			require.Equal(t, c.want+"\n", hosttest.Finish(t, m, req, c.terminal).Output().Output)
		})
	}
}

// Options.CommandsFor decides per command, and the policy sees the decision and the environment.
func TestPTYIsTheEmbeddersChoice(t *testing.T) {
	var seen []acpterm.Proposal
	m := hosttest.NewManager(t, &acpterm.Options{
		CommandsFor: func(session acpterm.SessionID, c acpterm.Command) *acpterm.CommandOptions {
			if filepath.Base(c.Args[0]) != "sh" {
				return nil
			}
			return &acpterm.CommandOptions{PTY: &acpterm.PTYOptions{Columns: 100}}
		},
		Policy: acpterm.PolicyFunc(func(_ context.Context, p acpterm.Proposal) acpterm.Decision {
			if p.PTY != nil {
				kept := *p.PTY
				p.PTY.Columns, p.PTY = -1, &kept // it belongs to the policy
			}
			seen = append(seen, p)
			return acpterm.Decision{Verdict: acpterm.VerdictAllow}
		}),
	})
	term := hosttest.Finish(t, m, shellRequest("test -t 0 && test -t 1 && test -t 2 && stty size"))
	require.True(t, term.HasPTY())
	require.Equal(t, "24 100\n", term.Output().Output)
	require.False(t, hosttest.Finish(t, m, hosttest.ChildRequest("exit", "0")).HasPTY())
	require.Equal(t, &acpterm.PTYOptions{Columns: 100}, seen[0].PTY)
	require.Contains(t, seen[0].Command.Env, "TERM=xterm-256color")
	require.Nil(t, seen[1].PTY)
	require.Contains(t, seen[1].Command.Env, "PAGER=cat")
}

func TestPTYOptionsAreChecked(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	for _, p := range []acpterm.PTYOptions{{Columns: -1}, {Rows: 1001}, {Term: "\x00"}} {
		_, err := m.Create(t.Context(), shellRequest("true"), &acpterm.CommandOptions{PTY: &p})
		require.ErrorIs(t, err, acpterm.ErrInternal)
		require.ErrorContains(t, err, "CommandOptions.PTY")
	}
	m = hosttest.NewManager(t, &acpterm.Options{
		CommandsFor: func(acpterm.SessionID, acpterm.Command) *acpterm.CommandOptions { panic("oh") },
	})
	_, err := m.Create(t.Context(), shellRequest("true"), nil)
	require.ErrorIs(t, err, acpterm.ErrInternal)
}

// Many terminals leave nothing behind: NewManager looks for descriptors, goroutines and processes.
func TestManyPTYs(t *testing.T) {
	total := longtest.Times(100, 1000)
	m := hosttest.NewManager(t, nil)
	var group sync.WaitGroup
	for worker := range 10 {
		group.Go(func() {
			for i := range total / 10 {
				term, err := m.Create(t.Context(), shellRequest("echo text; sleep 300"), onPTY())
				if err != nil {
					t.Error(err)
					return
				}
				if (worker+i)%2 == 0 {
					hosttest.AwaitOutput(t, term, "text")
				}
				if err := m.Release(t.Context(), "s", term.ID()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	require.Zero(t, m.Stats().Terminals)
}
