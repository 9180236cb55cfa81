package screen_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/screen"
)

// render returns the lines of output that arrives in chunks of some size.
func render(output string, size int) (lines []screen.Line) {
	var l screen.Lines
	add := func(line screen.Line) { lines = append(lines, line) }
	for ; output != ""; output = output[min(size, len(output)):] {
		l.Write(output[:min(size, len(output))], add)
		l.Rest() // changes nothing
	}
	l.Finish(add)
	return lines
}

func joined(lines []screen.Line) (text string) {
	for _, line := range lines {
		text += line.Text
	}
	return text
}

func TestLines(t *testing.T) {
	long := strings.Repeat("0123456789", 200)
	for output, want := range map[string]string{
		"":                     "",
		"one\r\ntwo  \n\n\tx":  "one\ntwo  \n\n\tx",
		long + "\n":            long + "\n",
		"a\tb\r" + "x":         "x\tb",
		"a\tb\r\tcd\n":         "a\tcd\n",
		"a\tb\b\b\bXYZ":        "a     XYZ",
		"1%\r50%\r100%\r":      "100%",
		"12345\rab\n":          "ab345\n",
		"12345\rab\x1b[K\n":    "ab\n",
		"12345\x1b[2K\rab\n":   "ab\n",
		"12345\x1b[1Gab\x1b[m": "ab345",
		"abc\b\b\x1b[Pd":       "ad",
		"b\bbo\bol\bld\n":      "bold\n",
		"漢字\rab\n":             "ab字\n",
		"漢字\rabc\n":            "abc\n",
		"e\u0301\re":           "e",
		// Other rows.
		"one\x1b[1A\x1b[2Ktwo": "one\n   two",
		"\x1b[2;3Hx\x1b[Hy":    "  x\ny",
		"a\x1b[2J\x1b[Hb\n":    "a\nb\n",
		"a\x1bMb\x1bDc\x1bEd":  "a\n b\n  c\nd",
		"a\x1bcb\n":            "a\nb\n",
		"a\fb\vc\u0085d":       "a\nb\nc\nd",
		// Nothing is lost.
		"a\x1b[?1049hb\x1b[?1049lc":         "abc",
		"\x1b[?7l" + long:                   long,
		long + "\rover":                     long[:len(long)-len(long)%512] + "over" + long[len(long)-len(long)%512+4:],
		strings.Repeat("x", 512) + "\tx\n":  strings.Repeat("x", 512) + "\tx\n",
		strings.Repeat("漢", 300) + "\xff\n": strings.Repeat("漢", 300) + "\uFFFD\n",
		"\xff\xe2\x82":                      "\uFFFD\uFFFD\uFFFD",
	} {
		for _, size := range []int{len(output), 1, 2, 3, 7} {
			require.Equal(t, want, joined(render(output, max(size, 1))), "%q, %d", output, size)
		}
	}
}

func TestLinesCountLongSequences(t *testing.T) {
	picture := "\x1bP" + strings.Repeat("#", 1000) + "\x1b\\"
	lines := render("a"+picture+"b\n\x1b[1mc\n\x1b]no end"+strings.Repeat("x", 1000), 100)
	require.Len(t, lines, 3)
	require.EqualValues(t, len(picture), lines[0].Hidden)
	require.Zero(t, lines[1].Hidden)
	require.EqualValues(t, 1008, lines[2].Hidden)
}

// FuzzFlow checks what holds for any output, in any chunks.
func FuzzFlow(f *testing.F) {
	for n := range uint64(50) {
		f.Add(string(hostileInput(n, 200)), 7)
	}
	f.Add(strings.Repeat("plain\ttext é漢\n", 100), 3)
	f.Fuzz(func(t *testing.T, output string, size int) {
		lines := render(output, len(output)+1)
		text := joined(lines)
		require.Equal(t, text, joined(render(output, 1+max(size, -size)%64)))
		require.True(t, utf8.ValidString(text))
		isPlain := utf8.ValidString(output)
		for _, c := range output {
			isPlain = isPlain && (c == '\n' || c == '\t' || !unicode.IsControl(c))
		}
		if isPlain {
			require.Equal(t, output, text)
		}
		total := int64(0)
		for _, line := range lines {
			require.False(t, strings.ContainsFunc(strings.TrimSuffix(line.Text, "\n"), func(c rune) bool {
				return c != '\t' && unicode.IsControl(c)
			}), "%q", line.Text)
			if line.Exact {
				require.Equal(t, output[total:total+line.Size], line.Text)
			}
			total += line.Size
		}
		require.EqualValues(t, len(output), total)
	})
}

// One endless line takes no more memory than a row.
func TestMemoryOfLinesIsBounded(t *testing.T) {
	for _, part := range []string{"\r50% [=====", "x", "\x1bP", "\b\t", "e\u0301\u0302"} {
		var l screen.Lines
		chunk := strings.Repeat(part, 1000)
		longest := 0
		emit := func(line screen.Line) { longest = max(longest, len(line.Text)) }
		l.Write(chunk, emit)
		require.Less(t, testing.AllocsPerRun(20, func() { l.Write(chunk, emit) }), float64(len(chunk)/256+10), part)
		require.Less(t, longest, 20<<10, part)
	}
}
