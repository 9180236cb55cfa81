package main

// Progress bars and the like: how output becomes lines.

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestLinesAsATerminalShowsThem(t *testing.T) {
	for text, want := range map[string]string{
		"one\ntwo\r\nthree":            "one\ntwo\nthree\n",
		"10%\r20%\r100%\n":             "100%\n",
		"10%\r\n20%\r\r\n":             "10%\n20%\n",
		"100%\r20%":                    "20%%\n", // as a terminal does
		"100%\r\x1b[K20%":              "20%\n",
		"100%\r\x1b[2K20%":             "20%\n",
		"100%\x1b[1G20%\n":             "20%%\n",
		"100%\x1b[2K\x1b[3D20%\n":      " 20%\n",
		"abc\b\bX\n":                   "aXc\n",
		"abc\r\x1b[2CX\n":              "abX\n",
		"abc\r\x1b[1K\n":               " bc\n",
		"\b\b\b\x1b[9Dx":               "x\n",
		"日本\rx":                        "x 本\n",
		"日本\r\x1b[Cx":                  " x本\n",
		"ab日\r日":                       "日日\n",
		"e\u0301\b_":                   "_\n",
		"a\tb\rc":                      "c       b\n",
		"a\tb\r\x1b[9Cc":               "a       bc\n",
		"\x1b[31mred\x1b[m\rRE":        "REd\n",
		"match\x1b[K\nnext\x1b[0K\n":   "match\nnext\n",
		"\x1b]0;a\rtitle\ab\rc":        "c\n",
		"x\r\u202ey":                   `\u202ey` + "\n",
		"working...\r          \r":     "",
		"working...\r          \rok\n": "ok\n",
		"\x1b[":                        "",
	} {
		require.Equal(t, want, edit(text), "%q", text)
		require.Equal(t, want, edit(strings.Split(text, "")...), "%q in characters", text)
	}
}

// edit returns all lines of output that comes in pieces.
func edit(pieces ...string) string {
	e := new(lineEditor)
	var b strings.Builder
	for _, piece := range pieces {
		b.WriteString(e.add(piece))
	}
	b.WriteString(e.end())
	return b.String()
}

func TestUnfinishedLine(t *testing.T) {
	e := new(lineEditor)
	require.Empty(t, e.add("Compiling"))
	require.Equal(t, "Compiling", e.unfinished())
	require.Empty(t, e.add("\r[#    ]"))
	require.Equal(t, "[#    ]ng", e.unfinished())
	require.Equal(t, "[##   ]ng\n", e.add("\b\b\b\b\b#\n"))
	require.Empty(t, e.unfinished())
	require.Equal(t, "plain\n", e.add("plain\n"))
	require.False(t, e.moved, "lines are copied again")
}

// Neither a line without an end nor one that is overwritten takes much memory.
func TestLongLinesAreBounded(t *testing.T) {
	e := new(lineEditor)
	lines, all := 0, 10*mostUnfinished
	for range all / 1024 {
		lines += len(e.add(strings.Repeat("x", 1024)))
		require.LessOrEqual(t, len(e.unfinished()), mostUnfinished)
	}
	require.Equal(t, all, lines+len(e.unfinished()))
	require.LessOrEqual(t, len(e.end()), mostUnfinished+1)

	e = new(lineEditor)
	e.add("\r")
	for range 5000 {
		e.add("\x1b[31mxx\u0301\x1b[999999999Cx日")
		require.LessOrEqual(t, len(e.cells), mostColumns)
	}
	e.add("\r" + strings.Repeat("\u0301", 1000))
	e.add("x" + strings.Repeat("\u0301", 1000))
	require.Less(t, len(e.unfinished()), 100*mostColumns)
}

func FuzzLineEditor(f *testing.F) {
	f.Add("\x1b[31mab\r\x1b[Kc日\b\n\t\x1b[2D", uint8(3))
	f.Fuzz(func(t *testing.T, text string, size uint8) {
		text = strings.ToValidUTF8(text, "\uFFFD")
		e := new(lineEditor)
		for text != "" {
			n := min(len(text), int(size)+1)
			for n < len(text) && !utf8.RuneStart(text[n]) {
				n++
			}
			got := e.add(text[:n]) + e.unfinished()
			require.True(t, utf8.ValidString(got))
			require.Equal(t, got, harmless(got, dropControls))
			text = text[n:]
		}
		e.end()
	})
}
