package embedtest

// CommandOptions at the four levels where they can be set.

import (
	"context"
	"reflect"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/hosttest"
)

// taggingSandbox sets a variable.
type taggingSandbox string

func (s taggingSandbox) Wrap(_ context.Context, p acpterm.Proposal) (acpterm.Wrapped, error) {
	c := p.Command
	c.Env = append(slices.Clone(c.Env), "SANDBOX="+string(s))
	return acpterm.Wrapped{Command: c}, nil
}

// option is a field of CommandOptions with four values, and a way to see which of them a terminal uses.
type option struct {
	values  [4]acpterm.CommandOptions
	late    bool // CommandsFor may set it
	request func(level int) acpterm.CreateTerminalRequest
	shows   func(t *testing.T, m *acpterm.Manager, term *acpterm.Terminal) any
	wants   [4]any
}

// optionsOfLevels returns an option for each field of CommandOptions.
func optionsOfLevels(t *testing.T) map[string]option {
	var dirs [4]string
	for i := range dirs {
		dirs[i] = t.TempDir()
	}
	four := func(value func(i int) acpterm.CommandOptions) (all [4]acpterm.CommandOptions) {
		for i := range all {
			all[i] = value(i)
		}
		return all
	}
	printed := func(t *testing.T, _ *acpterm.Manager, term *acpterm.Terminal) any {
		hosttest.AwaitExit(t, term)
		return term.Output().Output
	}
	shell := func(script string) func(int) acpterm.CreateTerminalRequest {
		return func(int) acpterm.CreateTerminalRequest {
			return acpterm.CreateTerminalRequest{SessionID: "s", Command: "sh", Args: []string{"-c", script}}
		}
	}
	// limited sleeps for so many seconds at a level without a limit, and as long as needed at one with a limit.
	limited := func(seconds string) func(int) acpterm.CreateTerminalRequest {
		return func(level int) acpterm.CreateTerminalRequest {
			return shell("read x; sleep " + [2]string{seconds, "1000"}[level%2] + "; exit 1")(level)
		}
	}
	levels := [4]string{"a", "b", "c", "d"}
	texts := [4]any{"a", "b", "c", "d"}
	numbers := [4]any{int64(101), int64(102), int64(103), int64(104)}
	signals := [4]syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1}
	return map[string]option{
		"Dir": {
			values: four(func(i int) acpterm.CommandOptions { return acpterm.CommandOptions{Dir: dirs[i]} }),
			shows:  func(_ *testing.T, _ *acpterm.Manager, term *acpterm.Terminal) any { return term.Command().Dir },
			wants:  [4]any{dirs[0], dirs[1], dirs[2], dirs[3]},
		},
		"Env": {
			values: four(func(i int) acpterm.CommandOptions {
				return acpterm.CommandOptions{Env: []string{"PATH=/usr/bin:/bin", "LEVEL=" + levels[i]}}
			}),
			request: shell("printf $LEVEL"), shows: printed, wants: texts,
		},
		"Unattended": {
			values: four(func(i int) acpterm.CommandOptions {
				return acpterm.CommandOptions{Unattended: []string{"LEVEL=" + levels[i]}}
			}),
			request: shell("printf $LEVEL"), shows: printed, wants: texts,
		},
		"Shell": {
			values: four(func(i int) acpterm.CommandOptions {
				return acpterm.CommandOptions{
					Shell: &acpterm.Shell{Program: "/bin/sh", Args: []string{"-" + string("euxv"[i]), "-c"}},
				}
			}),
			request: func(int) acpterm.CreateTerminalRequest {
				return acpterm.CreateTerminalRequest{SessionID: "s", Command: "true && true"}
			},
			shows: func(_ *testing.T, _ *acpterm.Manager, term *acpterm.Terminal) any { return term.Command().Args[1] },
			wants: [4]any{"-e", "-u", "-x", "-v"},
		},
		"ShellLines": {
			values: [4]acpterm.CommandOptions{
				{ShellLines: acpterm.ShellAlways}, {ShellLines: acpterm.ShellNever},
				{ShellLines: acpterm.ShellAlways}, {ShellLines: acpterm.ShellNever},
			},
			request: func(int) acpterm.CreateTerminalRequest {
				return acpterm.CreateTerminalRequest{SessionID: "s", Command: "true"}
			},
			shows: func(_ *testing.T, _ *acpterm.Manager, term *acpterm.Terminal) any { return term.Command().ShellLine },
			wants: [4]any{"true", "", "true", ""},
		},
		"PTY": {
			values: four(func(i int) acpterm.CommandOptions {
				return acpterm.CommandOptions{PTY: &acpterm.PTYOptions{Columns: 101 + i}}
			}),
			late: true,
			shows: func(_ *testing.T, _ *acpterm.Manager, term *acpterm.Terminal) any {
				return int64(term.Info().Size.Columns)
			},
			wants: numbers,
		},
		"Limits": {
			values: four(func(i int) acpterm.CommandOptions {
				return acpterm.CommandOptions{Limits: &acpterm.Limits{OpenFiles: 101 + i}}
			}),
			late: true,
			shows: func(_ *testing.T, _ *acpterm.Manager, term *acpterm.Terminal) any {
				return term.Info().Limits[0].Value
			},
			wants: numbers,
		},
		"Sandbox": {
			values: four(func(i int) acpterm.CommandOptions {
				return acpterm.CommandOptions{Sandbox: taggingSandbox(levels[i])}
			}),
			late: true, request: shell("printf $SANDBOX"), shows: printed, wants: texts,
		},
		"Escalation": {
			values: four(func(i int) acpterm.CommandOptions {
				return acpterm.CommandOptions{Escalation: []acpterm.EscalationStep{{Signal: signals[i]}}}
			}),
			late: true, request: shell("exec sleep 1000"),
			shows: func(t *testing.T, _ *acpterm.Manager, term *acpterm.Terminal) any {
				require.NoError(t, term.Kill(t.Context()))
				return *term.ExitStatus().Signal
			},
			wants: [4]any{"SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1"},
		},
		"Timeout": {
			values: [4]acpterm.CommandOptions{
				{Timeout: time.Hour}, {Timeout: time.Millisecond}, {Timeout: -1}, {Timeout: time.Millisecond},
			},
			late: true, request: limited("0.1"),
			shows: func(t *testing.T, _ *acpterm.Manager, term *acpterm.Terminal) any {
				_, err := term.Wait(t.Context())
				require.NoError(t, err)
				return term.EndedBy()
			},
			wants: [4]any{acpterm.EndedByItself, acpterm.EndedByTimeout, acpterm.EndedByItself, acpterm.EndedByTimeout},
		},
		"IdleTimeout": {
			values: [4]acpterm.CommandOptions{
				{IdleTimeout: time.Hour}, {IdleTimeout: time.Millisecond}, {IdleTimeout: -1}, {IdleTimeout: time.Millisecond},
			},
			late: true, request: limited("3"),
			shows: func(t *testing.T, _ *acpterm.Manager, term *acpterm.Terminal) any {
				_, err := term.Wait(t.Context())
				require.NoError(t, err)
				return term.EndedBy()
			},
			wants: [4]any{acpterm.EndedByItself, acpterm.EndedByIdle, acpterm.EndedByItself, acpterm.EndedByIdle},
		},
		"OutputByteLimit": {
			values: four(func(i int) acpterm.CommandOptions {
				return acpterm.CommandOptions{OutputByteLimit: int64(101 + i)}
			}),
			late: true,
			shows: func(_ *testing.T, _ *acpterm.Manager, term *acpterm.Terminal) any {
				return term.Info().OutputByteLimit
			},
			wants: numbers,
		},
		"FollowBytes": {
			values: four(func(i int) acpterm.CommandOptions {
				return acpterm.CommandOptions{FollowBytes: int64(101 + i)}
			}),
			late: true,
			request: func(int) acpterm.CreateTerminalRequest {
				return acpterm.CreateTerminalRequest{SessionID: "s", Command: "true", OutputByteLimit: new(uint64(1))}
			},
			shows: func(_ *testing.T, m *acpterm.Manager, _ *acpterm.Terminal) any { return m.Stats().ReservedBytes },
			wants: numbers,
		},
		"PlainOutput": {
			values: four(func(int) acpterm.CommandOptions { return acpterm.CommandOptions{PlainOutput: true} }),
			late:   true, request: shell(`printf '\033[1mx'`), shows: printed, wants: [4]any{"x", "x", "x", "x"},
		},
	}
}

// Each field of CommandOptions but Stdin can be set at each level. The highest level that sets it wins, in the order Create,
// CommandsFor, session, manager.
func TestCommandOptionsAtEveryLevel(t *testing.T) {
	all := optionsOfLevels(t)
	for _, field := range reflect.VisibleFields(reflect.TypeFor[acpterm.CommandOptions]()) {
		if field.Name == "Stdin" {
			continue
		}
		o, ok := all[field.Name]
		require.True(t, ok, "no row for %s", field.Name)
		for highest := range 4 { // 0: Create, 1: CommandsFor, 2: the session, 3: the manager
			if highest == 1 && !o.late {
				continue
			}
			set := func(level int) acpterm.CommandOptions { // the options set by a level, from the highest one on
				if level < highest || level == 1 && !o.late {
					return acpterm.CommandOptions{}
				}
				return o.values[level]
			}
			m := hosttest.NewManager(t, &acpterm.Options{
				Commands: set(3),
				CommandsFor: func(acpterm.SessionID, acpterm.Command) *acpterm.CommandOptions {
					return new(set(1))
				},
			})
			require.NoError(t, m.OpenSession("s", &acpterm.SessionOptions{Commands: set(2)}))
			request := acpterm.CreateTerminalRequest{SessionID: "s", Command: "true"}
			if o.request != nil {
				request = o.request(highest)
			}
			term, err := m.Create(t.Context(), request, new(set(0)))
			require.NoError(t, err, "%s, level %d", field.Name, highest)
			require.Equal(t, o.wants[highest], o.shows(t, m, term), "%s, level %d", field.Name, highest)
			require.NoError(t, m.Close())
		}
	}
}

// Stdin can only be passed to Create, and then replaces the PTY of the other levels.
func TestStdinReplacesAPTY(t *testing.T) {
	pty := acpterm.CommandOptions{PTY: &acpterm.PTYOptions{}}
	var proposed acpterm.Proposal
	m := hosttest.NewManager(t, &acpterm.Options{
		Commands:    pty,
		CommandsFor: func(acpterm.SessionID, acpterm.Command) *acpterm.CommandOptions { return &pty },
		Policy: acpterm.PolicyFunc(func(_ context.Context, p acpterm.Proposal) acpterm.Decision {
			proposed = p
			return acpterm.Decision{Verdict: acpterm.VerdictAllow}
		}),
	})
	term := hosttest.Create(t, m, hosttest.CommandRequest("cat"), &acpterm.CommandOptions{Stdin: &acpterm.StdinOptions{}})
	require.False(t, term.HasPTY())
	require.True(t, proposed.Stdin)
	require.Nil(t, proposed.PTY)
	require.NoError(t, term.CloseStdin())
	require.True(t, hosttest.AwaitExit(t, term).Success())
	require.True(t, hosttest.Create(t, m, hosttest.CommandRequest("cat")).HasPTY())
	require.False(t, proposed.Stdin)
}
