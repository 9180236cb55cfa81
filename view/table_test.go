package view_test

// The table of commands: its rows and its limits.

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/view"
	"github.com/stretchr/testify/require"
)

// denyRemovals denies rm and allows all other commands.
var denyRemovals = acpterm.PolicyFunc(func(_ context.Context, p acpterm.Proposal) acpterm.Decision {
	if p.Command.Args[0] == "rm" {
		return acpterm.Decision{Verdict: acpterm.VerdictDeny, Rule: "no-removals", Reason: "Nothing is removed here."}
	}
	return acpterm.Decision{Verdict: acpterm.VerdictAllow}
})

// all returns a function that reports whether the commands have these states.
func all(states map[string]string) func(map[string]tableRow) bool {
	return func(rows map[string]tableRow) bool {
		for command, state := range states {
			if rows[command].State != state {
				return false
			}
		}
		return true
	}
}

func TestRows(t *testing.T) {
	m := made(t, acptermtest.Commands{
		"go test ./...": acptermtest.Print("ok\n", 0), "make": acptermtest.Print("oh\n", 2), "serve": acptermtest.Block,
		"old": acptermtest.Print("before\n", 0), "wait": acptermtest.Block, "slow": acptermtest.Block, "rm": acptermtest.Block,
		"a && b": acptermtest.Print("", 0), "unmade": nil,
	}, acpterm.Options{
		Policy: denyRemovals, Commands: acpterm.CommandOptions{Dir: "/home/me", OutputByteLimit: 2},
		CommandsFor: func(_ acpterm.SessionID, c acpterm.Command) *acpterm.CommandOptions {
			return &acpterm.CommandOptions{Timeout: map[string]time.Duration{"slow": time.Millisecond}[c.String()]}
		},
	})
	before := &viewer{t: t, Manager: m}
	before.create("s1", "old").Wait(t.Context())
	before.create("s1", "wait")
	v := newViewer(t, m, view.Options{AllowStop: true})
	s, rows := v.open("events", ""), make(map[string]tableRow)
	s.table(rows, all(map[string]string{"old": "finished", "wait": "running"}))

	v.create("s1", "go", "test", "./...")
	v.create("s2", "make")
	v.create("s2", "slow")
	v.create("s2", "a && b")
	serve := v.create("s2", "serve")
	_, err := v.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s2", Command: "rm", Args: []string{"-rf",
		"x"}}, nil)
	require.ErrorIs(t, err, acpterm.ErrDenied)
	s.table(rows, all(map[string]string{
		"go test ./...": "finished", "make": "finished", "slow": "timed out", "serve": "running", "rm -rf x": "denied", "a && b": "finished",
	}))
	require.True(t, rows["serve"].CanStop)
	require.NoError(t, v.Release(t.Context(), "s2", serve.ID()))
	s.table(rows, all(map[string]string{"serve": "killed"}))

	require.True(t, rows["go test ./..."].Good)
	require.Equal(t, "/usr/bin/go", rows["go test ./..."].Program)
	require.Equal(t, "/home/me", rows["go test ./..."].Dir)
	require.Equal(t, "s1", rows["go test ./..."].Session)
	require.EqualValues(t, 3, rows["make"].Bytes)
	require.EqualValues(t, 1, rows["make"].Dropped)
	require.Equal(t, "exit code 2", rows["make"].Status)
	require.False(t, rows["make"].Good)
	require.True(t, rows["a && b"].Shell)
	require.Equal(t, "signal SIGTERM", rows["serve"].Status)
	require.False(t, rows["serve"].CanStop)
	require.Equal(t, "no-removals", rows["rm -rf x"].Rule)
	require.Equal(t, "Nothing is removed here.", rows["rm -rf x"].Status)
	require.NotZero(t, rows["serve"].Ended)
	require.Zero(t, rows["wait"].Ended)
}

func TestRowOfAFailedStart(t *testing.T) {
	m := made(t, acptermtest.Commands{"make all": acptermtest.Print("", 0)}, acpterm.Options{})
	v := newViewer(t, m, view.Options{})
	_, err := v.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "make", Args: []string{"none"}}, nil)
	require.Error(t, err)
	rows := make(map[string]tableRow)
	v.open("events", "").table(rows, all(map[string]string{"make none": "failed"}))
	require.NotEmpty(t, rows["make none"].Status)
}

func TestViewOfOneSession(t *testing.T) {
	m := made(t, acptermtest.Commands{"make": acptermtest.Print("secret", 0)}, acpterm.Options{})
	v := newViewer(t, m, view.Options{Session: "mine"})
	other := v.create("theirs", "make", "theirs")
	other.Wait(t.Context())
	v.create("mine", "make", "mine")
	rows := make(map[string]tableRow)
	v.open("events", "").table(rows, all(map[string]string{"make mine": "finished"}))
	require.Len(t, rows, 1)
	require.Equal(t, 404, v.request("GET", output(other), nil).StatusCode)
}

func TestPastCommandsAreBounded(t *testing.T) {
	t.Parallel()
	m := made(t, acptermtest.Commands{"make": acptermtest.Print("x", 0), "serve": acptermtest.Block}, acpterm.Options{})
	v := newViewer(t, m, view.Options{MaxPast: 3})
	for i := range 5 {
		v.create("s", "serve", fmt.Sprint(i))
	}
	s, rows := v.open("events", ""), make(map[string]tableRow)
	var first *acpterm.Terminal
	for i := range 10 {
		terminal := v.create("s", "make", fmt.Sprint(i))
		if i == 0 {
			first = terminal
		}
		terminal.Wait(t.Context())
		s.table(rows, all(map[string]string{fmt.Sprint("make ", i): "finished"}))
	}
	s.table(rows, func(rows map[string]tableRow) bool {
		return len(rows) == 8 && all(map[string]string{"make 7": "finished", "make 8": "finished",
			"make 9": "finished"})(rows)
	})
	require.NoError(t, v.Release(t.Context(), "s", first.ID()))
	require.Equal(t, 404, v.request("GET", output(first), nil).StatusCode)
}

func TestNewTerminalIsFoundBeforeItsEvents(t *testing.T) {
	blocked := make(chan struct{}) // blocks the events
	m := made(t, acptermtest.Commands{"make": acptermtest.Print("x", 0)}, acpterm.Options{})
	m.Observe(func(acpterm.Event) { <-blocked })
	v := newViewer(t, m, view.Options{})
	defer close(blocked)
	text, _, _ := v.open(output(v.create("s", "make")), "").text(nil)
	require.Equal(t, "x", text)
}

// Output and requests of past commands count for MaxPastBytes.
func TestPastBytesAreBounded(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		output, argument string
		limit            int64
	}{
		{strings.Repeat("x", 1000), "", 2500},
		{"x", strings.Repeat("x", 1<<20), 5 << 19},
	} {
		m := made(t, acptermtest.Commands{"make": acptermtest.Print(test.output, 0)}, acpterm.Options{})
		v := newViewer(t, m, view.Options{MaxPastBytes: test.limit})
		s, rows := v.open("events", ""), make(map[string]tableRow)
		var want []string
		for i := range 6 {
			terminal := v.create("s", "make", fmt.Sprint(i), test.argument)
			terminal.Wait(t.Context())
			want = append(want, keyOf(terminal))
		}
		slices.Sort(want[4:])
		s.table(rows, func(rows map[string]tableRow) bool {
			var finished []string
			for _, row := range rows {
				if row.State == "finished" {
					finished = append(finished, row.Key)
				}
			}
			slices.Sort(finished)
			return len(rows) == 2 && slices.Equal(finished, want[4:])
		})
	}
}

func TestCommandIsPrintable(t *testing.T) {
	long := strings.Repeat("x", 10<<10)
	m := made(t, acptermtest.Commands{"*": acptermtest.Print("", 0), "sh": acptermtest.Print("", 0)},
		acpterm.Options{Commands: acpterm.CommandOptions{ShellLines: acpterm.ShellAlways}})
	v := newViewer(t, m, view.Options{})
	rows := make(map[string]tableRow)
	for _, line := range []string{"<script>alert(1)</script>", "echo a\u202ecod.exe\x1b[2J\u200b\x00\xff", long} {
		v.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: strings.ReplaceAll(line, "\x00", "")}, nil)
	}
	v.open("events", "").table(rows, func(rows map[string]tableRow) bool { return len(rows) == 3 })
	require.Contains(t, rows, "<script>alert(1)</script>")
	require.Contains(t, rows, `echo a\u{202e}cod.exe\u{1b}[2J\u{200b}`+"\ufffd")
	require.Contains(t, rows, long[:8<<10]+" … and 2048 bytes more")
}

func TestStopEndsTheTree(t *testing.T) {
	m := acptermtest.NewManager(t, &acpterm.Options{Commands: acpterm.CommandOptions{Escalation: []acpterm.EscalationStep{{Signal: syscall.SIGTERM,
		Wait: time.Hour}}}})
	v := newViewer(t, m, view.Options{AllowStop: true})
	terminal := v.start("family")
	t.Cleanup(func() { // shortens the hour if the test fails
		go terminal.Kill(context.Background())
		terminal.Kill(context.Background())
	})
	s := v.open(output(terminal), "")
	s.text(func(text string) bool { return strings.Contains(text, "ready") })

	stop := func() int { return v.stop(keyOf(terminal)) }
	require.Equal(t, 202, stop())
	var row tableRow
	for row.State != "stopping" && row.State != "stopped" {
		e, ok := s.next()
		require.True(t, ok)
		if e.kind == "status" {
			row = decode[struct{ Row tableRow }](t, e.data).Row
		}
	}
	require.True(t, row.Stopping)
	require.True(t, row.CanStop, "again, by force")
	require.Equal(t, 202, stop(), "it kills at once")
	_, _, ended := s.text(nil)
	require.True(t, ended, "the tree has ended")
	require.Equal(t, acpterm.EndedByUser, terminal.EndedBy())
	require.Equal(t, 202, stop(), "an ended command")
}
