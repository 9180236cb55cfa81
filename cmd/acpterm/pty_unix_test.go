//go:build linux || darwin || freebsd

package main

// Commands on a PTY.

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	pty "github.com/acpterm/acpterm/internal/screen"
)

// ptyOutput returns all lines that are printed of output that comes in pieces, and those printed at the end.
func ptyOutput(pieces ...string) (lines, end string) {
	s := pty.New(20, 4, math.MaxInt32, 0)
	p := &ptyEditor{output: func() acpterm.TerminalOutputResponse {
		text, start := s.Text()
		return acpterm.TerminalOutputResponse{Output: text, Truncated: start > 0}
	}}
	for _, piece := range pieces {
		s.Write([]byte(piece))
		lines += p.add(piece)
		p.unfinished()
	}
	return lines, p.end()
}

func TestLinesOfAPTY(t *testing.T) {
	for _, test := range []struct {
		pieces     []string
		lines, end string
	}{
		{[]string{"one\r\ntwo\r\n", "three"}, "one\ntwo\n", "three\n"},
		{[]string{"a\r\nb\r\nc\r\nd\r\ne\r\nf\r\n"}, "a\nb\nc\nd\ne\nf\n", ""},
		{[]string{"10%\r20%\x1b[J\r100%\r\n"}, "100%\n", ""},
		{[]string{"a: 1\r\nb: 1\r\n", "\x1b[2A\x1b[Ka: 2\r\n\x1b[K", "b: 2\r\n", "end\r\n"}, "a: 1\nb: 1\n", "a: 2\nb: 2\nend\n"},
		{[]string{"a: 1\r\nb\r\n", "\x1b[2", "A\x1b[Ka: 2\r\n\r\n", "c\r\nd\r\n", "e\r\n"}, "a: 1\nb\n", "a: 2\nc\nd\ne\n"},
		{[]string{"one\r\n", "two\x1bMONE"}, "one\n", "oneONE\ntwo\n"},
		{[]string{"before\r\n", "\x1b[?1049h\x1b[Hfull screen", "\x1b[?1049l", "after\r\n"}, "before\n", "after\n"},
		{[]string{"\x1b[?2004hnot moved\r\n", "12345678901234567890x"}, "not moved\n", "12345678901234567890x\n"},
		{[]string{"日本\r\n\x1b[31mred\x1b]0;title\a\u202e\r\n", "\x1b[2J"}, "日本\nred" + `\u202e` + "\n", ""},
	} {
		lines, end := ptyOutput(test.pieces...)
		require.Equal(t, []string{test.lines, test.end}, []string{lines, end}, "%q", test.pieces)
	}
}

func TestPTYInAPipe(t *testing.T) {
	t.Parallel()
	c := startClient(t, part("agent-that-looks", "progress", "one\n10%\r20%\n"), "-pty", "-prompt", "x")
	c.exit(exitTurnEnded)
	require.Contains(t, c.stdout.String(), "\n[1] | one\n[1] | 20%\n")
	require.Contains(t, c.stdout.String(), "\n[1] = exited 0 in ")
}

// Whatever a command prints, its lines are harmless.
func FuzzPTY(f *testing.F) {
	f.Add("\x1b[31mab\r\x1b[Kc日\b\n\t\x1b[2D\x1b[?1049h\x1b[5;2r\x1b[3A\x1bM\x1bc\x1b[2J\x1b[3J\x1b(0\x1b[6n")
	f.Add("\u202e\n\x1b[A\u202e")
	f.Fuzz(func(t *testing.T, text string) {
		half := len(text) / 2
		lines, end := ptyOutput(strings.ToValidUTF8(text[:half], "?"), strings.ToValidUTF8(text[half:], "?"))
		require.Equal(t, lines+end, harmless(lines+end, dropControls))
	})
}
