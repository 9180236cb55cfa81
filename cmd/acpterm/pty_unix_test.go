//go:build linux || darwin || freebsd

package main

// Commands on a PTY, and typing into them.

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/term"
)

func init() {
	parts["converse"] = func([]string) {
		in := bufio.NewScanner(os.Stdin)
		for fmt.Print("name? "); in.Scan() && in.Text() != ""; fmt.Print("name? ") {
			columns, rows, _ := term.GetSize(1)
			fmt.Printf("hello %s at %dx%d\n", in.Text(), columns, rows)
		}
		fmt.Println("bye")
	}
}

// all returns all that is printed of a command's output that comes in pieces.
func all(columns, rows int, pieces ...string) string {
	p := newPTYScreen(columns, rows, false, nil)
	var b strings.Builder
	for _, piece := range pieces {
		b.WriteString(p.add(piece))
	}
	b.WriteString("= " + p.end())
	return b.String()
}

func TestRowsOfAPTY(t *testing.T) {
	for _, test := range []struct {
		pieces []string
		want   string
	}{
		{[]string{"one\r\ntwo\r\n", "three"}, "one\ntwo\n= three\n"},
		{[]string{"a\r\nb\r\nc\r\nd\r\ne\r\nf\r\n"}, "a\nb\nc\nd\ne\nf\n= "},
		{[]string{"10%\r20%\r100%\r\n"}, "100%\n= "},
		{[]string{"a: 1\r\nb: 1\r\n", "\x1b[2A\x1b[Ka: 2\r\n\x1b[K", "b: 2\r\n", "end\r\n"}, "a: 1\nb: 1\n= a: 2\nb: 2\nend\n"},
		{[]string{"a: 1\r\nb\r\n", "\x1b[2A\x1b[Ka: 2\r\n\r\n", "c\r\nd\r\n", "e\r\n"}, "a: 1\nb\na: 2\n= c\nd\ne\n"},
		{[]string{"before\r\n\x1b[?1049h\x1b[Hfull screen", "\x1b[?1049l", "after\r\n"}, "before\nafter\n= "},
		{[]string{"before\r\n", "\x1b[?1049h\x1b[Hfull screen"}, "before\n= "},
		{[]string{"12345678901234567890x"}, "12345678901234567890\n= x\n"},
		{[]string{"日本\r\n\x1b[31mred\x1b]0;title\a\u202e\r\n"}, "日本\nred" + `\u202e` + "\n= "},
		{[]string{"x\x1b[999999999by\r\n"}, "xy\n= "},
	} {
		require.Equal(t, test.want, all(20, 4, test.pieces...), "%q", test.pieces)
	}
}

// On a smaller screen, no row is lost.
func TestASmallerPTY(t *testing.T) {
	p := newPTYScreen(20, 6, false, nil)
	lines := p.add("1\r\n\x1b[A2 and more\r\n3\r\n4\r\n5 \r\n")
	p.resize(10, 2)
	lines += p.add("6\r\n")
	require.Equal(t, "2 and more\n3\n4\n5\n6\n", lines+p.end())
}

func TestPTYInAPipe(t *testing.T) {
	t.Parallel()
	c := startClient(t, part("agent-that-looks", "progress", "one\n10%\r20%\n"), "-pty", "-prompt", "x")
	c.exit(exitTurnEnded)
	require.Contains(t, c.stdout.String(), "\n[1] | one\n[1] | 20%\n")
	require.Contains(t, c.stdout.String(), "\n[1] = exited 0 in ")
}

// The user types into a command that has the whole window, and leaves it again.
func TestTyping(t *testing.T) {
	for _, columns := range []int{40, 80, 200} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			t.Parallel()
			w := openWindow(t, columns, 12, nil, part("agent-that-looks", "converse"), "-pty", "-prompt", "x")
			w.await(`(?m)^\[1\] \| name\? +\d+ s\nacpterm: t types into \[1\]`)
			w.press("t")
			w.await(`(?m)^name\?\s+^typing into \[1\]: Ctrl-\] leaves`)
			w.until(w.emulator.IsAltScreen, "the whole window")
			w.press("Eve\r")
			w.await(fmt.Sprintf(`(?m)^hello Eve at %dx11\nname\?\s+^typing`, columns))
			w.until(func() bool { return w.emulator.CursorPosition().X == 6 }, "the cursor after the question")
			w.resize(columns+10, 15)
			w.until(func() bool { return strings.Count(strings.TrimRight(w.emulator.String(), "\n"), "\n") == 14 }, "resized")
			w.press("Ann\r")
			w.await(fmt.Sprintf(`(?m)^hello Ann at %dx14\nname\?\s+^typing`, columns+10))
			w.press("\x1d")
			w.await(`(?m)^\[1\] \| hello Ann at.*\n\[1\] \| name\? +\d+ s\nacpterm: t types`)
			w.until(func() bool { return !w.emulator.IsAltScreen() }, "not the whole window")
			w.press("1\r")
			w.await(`(?m)^bye$|\[1\] = `)
			rows := w.exit(exitTurnEnded)
			require.Equal(t, 1, count(rows, "] | hello Eve at"), "%q", rows)
			require.Equal(t, 1, count(rows, "] | hello Ann at"), "%q", rows)
			require.Equal(t, 1, count(rows, "] | bye"), "%q", rows)
			require.Zero(t, count(rows, "typing into")+count(rows, "t types"), "%q", rows)
		})
	}
}

// An interrupt that the user types into a command is the command's.
func TestInterruptWhileTyping(t *testing.T) {
	t.Parallel()
	w := openWindow(t, 80, 24, nil, part("agent-that-looks", "sleep"), "-pty", "-prompt", "x")
	w.await(`acpterm: t types into \[1\]`)
	w.press("t")
	w.await(`typing into \[1\]`)
	w.press("\x03")
	require.Equal(t, 1, count(w.exit(exitTurnEnded), "[1] = signal SIGINT after "))
}

// A question takes the terminal from the command that the user types into.
func TestQuestionWhileTyping(t *testing.T) {
	t.Parallel()
	goOn, create := file(t)
	w := openWindow(t, 200, 24, nil, part("agent-that-runs-and-asks", goOn), "-pty", "-ask", "-prompt", "x")
	w.await(`never:`)
	w.press("y\r")
	w.await(`acpterm: t types into \[1\]`)
	w.press("t")
	w.await(`typing into \[1\]`)
	create()
	w.await(`"print" "denied"\n(.*\n)*.*never:`)
	w.until(func() bool { return !w.emulator.IsAltScreen() }, "not the whole window")
	w.press("n\r")
	w.await(`acpterm: t types into \[1\]`)
	w.press("t")
	w.await(`typing into \[1\]`)
	w.press("\r")
	rows := w.exit(exitTurnEnded)
	require.Equal(t, 1, count(rows, "] | bye"))
	require.Equal(t, 1, count(rows, "! denied"))
}

func init() {
	parts["agent-that-runs-and-asks"] = func(args []string) {
		play(func(a *scripted) string {
			ref := a.create("converse")
			awaitFile(args[0])
			a.conn.Call(context.Background(), "terminal/create", createParams("s", part("print", "denied")...), nil)
			a.call("terminal/wait_for_exit", ref, nil)
			return "end_turn"
		})
	}
}

func TestPTYOfAnotherMachine(t *testing.T) {
	t.Parallel()
	c := startClient(t, exampleAgent(), "-pty", "-runner", "sh", "-prompt", "x")
	c.exit(exitUsage)
	require.Contains(t, c.stderr.String(), "-pty: cannot be used with -runner")
}

// Whatever a command prints, the rows of its PTY are harmless, and nothing panics.
func FuzzPTY(f *testing.F) {
	f.Add("\x1b[31mab\r\x1b[Kc日\b\n\t\x1b[2D\x1b[?1049h\x1b[5;2r\x1b[3A\x1bM\x1bc\x1b[2J\x1b[3J\x1b(0\x1b[6n", uint8(3), uint8(2))
	f.Add("0\x1b[\x10;2r\x1bM", uint8(0), uint8(0)) // the emulator panics
	f.Add("000\x1b[3J", uint8(0), uint8(2))
	for _, final := range "@ABCDEFGHIJKLMPSTXZabcdefghklrt" { // an emulator that obeys takes minutes for some
		f.Add(strings.Repeat("\x1b[99999999999"+string(final), 200), uint8(19), uint8(9))
	}
	f.Fuzz(func(t *testing.T, text string, columns, rows uint8) {
		p := newPTYScreen(int(columns)%20+1, int(rows)%10+1, true, nil)
		half := len(text) / 2
		lines := p.add(strings.ToValidUTF8(text[:half], "?")) + p.unfinished()
		p.resize(int(rows)%20+1, int(columns)%10+1)
		lines += p.add(strings.ToValidUTF8(text[half:], "?")) + string(p.harmless(p.unfinished())) + p.end()
		require.Equal(t, lines, harmless(lines, keepColours))
	})
}
