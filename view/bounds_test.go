package view_test

// Long commands: bytes sent to pages, held and allocated. And what a page shows of a command.

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/internal/viewtest"
	"github.com/acpterm/acpterm/view"
	"github.com/stretchr/testify/require"
)

const mib = 1 << 20

// heap returns the bytes in use, and the total bytes allocated so far.
func heap() (held, allocated uint64) {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc, stats.TotalAlloc
}

func TestLongArgumentsAreCut(t *testing.T) {
	texts := make(chan string)
	m := made(t, acptermtest.Commands{"make": viewtest.Steps(texts), "rm": acptermtest.Block},
		acpterm.Options{Policy: denyRemovals})
	v := newViewer(t, m, view.Options{})
	running := v.create("s", "make")
	rows := make(map[string]tableRow)
	s := v.open("events", "")
	s.table(rows, all(map[string]string{"make": "running"}))

	held, _ := heap()
	for range 30 {
		_, err := v.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "rm",
			Args: []string{strings.Repeat("a", 2*mib), "-rf", strings.Repeat("<", 1<<16), strings.Repeat("\x1b", 1<<16)}}, nil)
		require.ErrorIs(t, err, acpterm.ErrDenied)
	}
	sent, denied := 0, make(map[string]string)
	for len(denied) < 30 {
		e, ok := s.next()
		require.True(t, ok)
		sent += len(e.data)
		for _, row := range decode[struct{ Rows []tableRow }](t, e.data).Rows {
			if row.State == "denied" {
				denied[row.Key] = row.Command
			}
		}
	}
	for _, command := range denied {
		require.Contains(t, command, "rm "+strings.Repeat("a", 1000))
		require.Contains(t, command, "… (2097152 bytes) -rf ")
		require.Less(t, len(command), 12<<10)
	}
	require.Less(t, sent, 30*128<<10)
	heldNow, allocated := heap()
	require.Less(t, int64(heldNow-held), int64(10*mib), "held")

	for size := range 4 { // each refreshes the table
		texts <- "x"
		s.until(func(row tableRow) bool { return row.Key == keyOf(running) && row.Bytes > int64(size) })
	}
	_, allocatedNow := heap()
	require.Less(t, allocatedNow-allocated, uint64(30*mib), "allocated for four updates")
	close(texts)
}

func TestTextOfALongCommand(t *testing.T) {
	t.Parallel()
	v := newViewer(t, made(t, acptermtest.Commands{"rm": acptermtest.Block}, acpterm.Options{Policy: denyRemovals}),
		view.Options{})
	many := make([]string, 10_000)
	for i := range many {
		many[i] = "xyz"
	}
	tests := []struct {
		args []string
		want string
	}{
		{[]string{strings.Repeat("a", 8000), "-rf"}, "rm " + strings.Repeat("a", 8000) + " -rf"},
		{[]string{strings.Repeat("a", 8189), "-rf"}, "rm " + strings.Repeat("a", 1024) + "… (8189 bytes) -rf"},
		{[]string{strings.Repeat("é ", 4000), "/"}, `rm '` + strings.Repeat("é ", 341) + `'… (12000 bytes) /`},
		{[]string{"a" + strings.Repeat("é", 6000), "/"}, "rm a" + strings.Repeat("é", 511) + "… (12001 bytes) /"},
		{many, "rm" + strings.Repeat(" xyz", 2048) + " … and 7952 arguments more"},
	}
	for _, test := range tests {
		_, err := v.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "rm", Args: test.args}, nil)
		require.ErrorIs(t, err, acpterm.ErrDenied)
	}
	rows := make(map[string]tableRow)
	v.open("events", "").table(rows, func(map[string]tableRow) bool { return len(rows) == len(tests) })
	for _, test := range tests {
		_, found := rows[test.want]
		require.True(t, found, "%.1200s", test.want)
	}
}

func TestLongCommandThatRunsIsSentOnce(t *testing.T) {
	t.Parallel()
	texts := make(chan string)
	v := newViewer(t, made(t, acptermtest.Commands{"make": viewtest.Steps(texts)}, acpterm.Options{}), view.Options{})
	terminal, err := v.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "make",
		Args: []string{strings.Repeat("<", mib)}}, nil)
	require.NoError(t, err)
	for _, path := range []string{"events", output(terminal)} {
		s := v.open(path, "")
		s.until(func(row tableRow) bool { return row.Command != "" })
		before := terminal.OutputTotal()
		sent := 0
		for i := range int64(3) {
			texts <- "x"
			sent += s.until(func(row tableRow) bool { return row.Bytes > before+i })
		}
		require.Less(t, sent, 2<<10, path)
		s.close()
	}
	close(texts)
}

// The page shows the script of a shell, and quotes arguments as a shell understands them.
func TestCommandAsShown(t *testing.T) {
	t.Parallel()
	v := newViewer(t, made(t, acptermtest.Commands{
		"sh": acptermtest.Block, "/bin/bash": acptermtest.Block, "bash": acptermtest.Block, "python3": acptermtest.Block,
		"echo": acptermtest.Block,
	}, acpterm.Options{
		Policy: acpterm.PolicyFunc(func(context.Context, acpterm.Proposal) acpterm.Decision {
			return acpterm.Decision{Verdict: acpterm.VerdictDeny}
		}),
	}), view.Options{})
	tests := []struct {
		args     []string
		want, by string
	}{
		{[]string{"sh", "-c", "cd a && make 'b c'"}, "cd a && make 'b c'", "sh -c"},
		{[]string{"/bin/bash", "-lc", "make"}, "make", "bash -lc"},
		{[]string{"bash", "-e", "-c", "make\nmake test"}, "make\nmake test", "bash -e -c"},
		{[]string{"sh", "-c", "echo $1", "sh", "x y"}, "sh -c 'echo $1' sh 'x y'", ""},
		{[]string{"bash", "-e", "script"}, "bash -e script", ""},
		{[]string{"sh", "-c", " "}, "sh -c ' '", ""},
		{[]string{"python3", "-c", "print(1)"}, "python3 -c 'print(1)'", ""},
		{[]string{"echo", "it's", "", "a\"b", "$x", "~", "é=日本", "--to=/a/b.c"}, `echo 'it'\''s' '' 'a"b' '$x' '~' é=日本 --to=/a/b.c`, ""},
		{[]string{"echo", "a\x1bb\u202e"}, `echo 'a\u{1b}b\u{202e}'`, ""},
	}
	for _, test := range tests {
		_, err := v.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: test.args[0], Args: test.args[1:]}, nil)
		require.ErrorIs(t, err, acpterm.ErrDenied)
	}
	rows := make(map[string]tableRow)
	v.open("events", "").table(rows, func(map[string]tableRow) bool { return len(rows) == len(tests) })
	for _, test := range tests {
		row, found := rows[test.want]
		require.True(t, found, test.want)
		require.Equal(t, test.by, row.By)
	}
}
