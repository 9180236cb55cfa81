package main

// How pieces from several sides become lines, their colours, and how they say how long something took.

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/display"
)

func TestLinesDoNotMix(t *testing.T) {
	var out strings.Builder
	s := newScreen(&out, &out, false, func(err error) { require.NoError(t, err) })
	for _, piece := range [][2]string{
		{"> ", "The agent"}, {"> ", " says\nthis, and "},
		{"[1] | ", "one"}, {"[1] | ", " line\ntwo lines\nand"},
		{"[2] | ", "other\n"},
		{"[1] | ", " more\r\n"},
		{"[1] | ", ""},
		{"> ", "that"},
	} {
		s.print(piece[0], piece[1])
	}
	s.finish()
	require.Equal(t, `> The agent says
> this, and 
[1] | one line
[1] | two lines
[1] | and
[2] | other
[1] |  more
> that
`, out.String())
}

// What is looked at by its first byte is found to be the same as by its character.
func TestEveryCharacterIsHarmless(t *testing.T) {
	check := func(r rune, want, got string) {
		if got != want { // require takes long for a million characters
			require.Equal(t, want, got, "%U", r)
		}
	}
	for r := range unicode.MaxRune + 1 {
		if !utf8.ValidRune(r) {
			continue
		}
		steers := unicode.IsControl(r) && r != '\n' && r != '\t'
		turns := unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
		text, want := "a"+string(r)+"日", "a"+string(r)+"日"
		if steers || turns {
			want = "a" + display.Visible(string(r), 0) + "日"
		}
		check(r, want, harmless(text, escapeControls))
		if steers {
			want = "a日"
		}
		check(r, want, harmless(text, dropControls))
	}
}

// Standard error has lines of its own, and ends those of standard output where both are one terminal.
func TestStandardErrorHasItsOwnLines(t *testing.T) {
	var out, errs strings.Builder
	s := newScreen(&out, &errs, false, func(err error) { require.NoError(t, err) })
	s.print("> ", "The agent ")
	s.printError("one\x1b[2J")
	s.print("> ", "speaks")
	s.printError("two")
	s.finish()
	require.Equal(t, "> The agent speaks\n", out.String())
	require.Equal(t, `agent: one\x1b[2J`+"\nagent: two\n", errs.String())
}

func TestFailureToPrintIsTold(t *testing.T) {
	var told error
	s := newScreen(brokenWriter{}, io.Discard, false, func(err error) { told = err })
	s.print("> ", "x")
	require.ErrorIs(t, told, os.ErrClosed)
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.Join(os.ErrClosed) }

// layOut returns the rows of a text, and the column where it ends.
func layOut(prefix, text string, width int) (string, int) {
	r := rows{prefix: prefix, painted: prefix, width: width}
	r.add(text)
	return string(r.to), r.column
}

// A row that goes on has the colours of its line, and what begins it has none. It is marked where an agent could choose
// the text so that the row looks like another line of the client's.
func TestRowsOfALongLine(t *testing.T) {
	const text = "\x1b[31mabcdefghijkl\x1b[m\nx日日y\t日日日z"
	rows, end := layOut("[1] | ", text, 14)
	require.Equal(t, "[1] | \x1b[31mabcdefgh\x1b[m\n[1] | \x1b[31mijkl\x1b[m\n[1] | x日日y\n[1] | \t日日日\n[1] | z", rows)
	require.Equal(t, 7, end)
	rows, end = layOut("[1] $ ", text, 14)
	require.Equal(t, "[1] $ \x1b[31mabcdefgh\x1b[m\n[1] $ | \x1b[31mijkl\x1b[m\n[1] $ x日日y\n[1] $ | \t\n[1] $ | 日日日\n[1] $ | z", rows)
	require.Equal(t, 9, end)
	rows, end = layOut("* ", "abcdefgh\nijklmno", 1)
	require.Equal(t, "* abcdef\n* | gh\n* ijklmn\n* | o", rows, "a row has some of the text")
	require.Equal(t, 5, end)
}

// Messages are broken between words, which commands, questions and output show exactly.
func TestRowsOfWords(t *testing.T) {
	for _, text := range []struct{ prefix, text, want string }{
		{"> ", "one two three four", "> one two \n> three four"},
		{"> ", "one two th  four", "> one two th\n> four"},
		{"> ", "one two   three\n", "> one two   \n> three\n"},
		{"> ", "exactly tn\nx", "> exactly tn\n> x"},
		{"> ", "one twelve\n", "> one twelve\n"},
		{"> ", "abcdefghijklmno pq", "> abcdefghij\n> klmno pq"},
		{"> ", "x 日日日日日y", "> x 日日日日\n> 日y"},
		{"agent: ", "ab cdefgh", "agent: ab \nagent: cdefg\nagent: h"},
		{"[1] $ ", "go test ./x", "[1] $ go \n[1] $ | test\n[1] $ |  ./x"},
		{"[1] | ", "one two", "[1] | one tw\n[1] | o"},
		{"? ", "one  two three", "? one  two t\n? | hree"},
	} {
		rows, _ := layOut(text.prefix, text.text, 12)
		require.Equal(t, text.want, rows, "%q", text.text)
	}
}

func TestPaint(t *testing.T) {
	t.Setenv("TERM", "xterm")
	t.Setenv("COLORTERM", "")
	s := newScreen(nil, nil, true, nil)
	require.Equal(t, "\x1b[35m[1] |\x1b[m ", s.paint("[1] | "))
	require.Equal(t, "\x1b[35m[11] =\x1b[m ", s.paint("[11] = "), "the same again after all others")
	require.Equal(t, "\x1b[32m[agent 2] $\x1b[m ", s.paint("[agent 2] $ "))
	require.Equal(t, "> ", s.paint("> "))
	s.colours = false
	require.Equal(t, "[1] | ", s.paint("[1] | "))
	require.Equal(t, "x", s.paintFailure("x"))
}

func TestInWords(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 s", 400 * time.Microsecond: "0 ms", 12*time.Millisecond + 600*time.Microsecond: "13 ms",
		999 * time.Millisecond: "999 ms", time.Second: "1 s", 1260 * time.Millisecond: "1.2 s", 59990 * time.Millisecond: "59.9 s",
		time.Minute: "1 min 0 s", 200*time.Second + time.Millisecond: "3 min 20 s", 2*time.Hour + 5*time.Minute: "2 h 5 min",
	} {
		require.Equal(t, want, inWords(d), d)
	}
}
