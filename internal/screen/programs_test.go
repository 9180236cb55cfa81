package screen_test

// Output of real programs, and the text that an agent reads.

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/display"
	"github.com/acpterm/acpterm/internal/screen"
)

func TestPrograms(t *testing.T) {
	for _, test := range []struct {
		what    string
		written []string
		text    string
	}{
		{"a progress bar", []string{
			"Downloading\r\n", "\r  0% [>    ]", "\r 50% [==>  ]", "\r100% [====>]\x1b[K", "\r\ndone\r\n",
		}, "Downloading\n100% [====>]\ndone\n"},
		{"a bar that is too long for its row", []string{
			"\r" + strings.Repeat("=", 45), "\r" + strings.Repeat("#", 45), "\r\n",
		}, strings.Repeat("=", 40) + "\n" + strings.Repeat("#", 45) + "\n"},
		{"docker pull", []string{
			"latest: Pulling\r\n", "a1: Waiting\r\n", "b2: Waiting\r\n",
			"\x1b[2A\x1b[2K\ra1: Downloading [=>  ]\x1b[2B\r", "\x1b[1A\x1b[2K\rb2: Downloading [=> ]\x1b[1B\r",
			"\x1b[2A\x1b[2K\ra1: Pull complete\x1b[2B\r", "\x1b[1A\x1b[2K\rb2: Pull complete\x1b[1B\r",
			"Status: new\r\n",
		}, "latest: Pulling\na1: Pull complete\nb2: Pull complete\nStatus: new\n"},
		{"lines that are taken back", []string{
			"[1/2] a\r\n[ ] b\r\n", "\x1b[2K\x1b[1A\x1b[2K\x1b[1A\x1b[2K\x1b[G", "[2/2] a\r\n[x] b\r\n",
		}, "[2/2] a\n[x] b\n"},
		{"grep", []string{
			"\x1b[35m\x1b[Ka.go\x1b[m\x1b[K\x1b[36m\x1b[K:\x1b[m\x1b[K" + strings.Repeat("x", 35),
			"\x1b[01;31m\x1b[Kfound\x1b[m\x1b[K\r\n",
		}, "a.go:" + strings.Repeat("x", 35) + "found\n"},
		{"top", []string{
			"\x1b[H\x1b[J\x1b[mtop - 10:00\x1b[K\r\nTasks: 9\x1b[K\r\n\x1b[K\r\n\x1b[7m PID\x1b[K\x1b[m\r\n   1\x1b[K",
			"\x1b[H\x1b[mtop - 10:03\x1b[K\r\nTasks: 10\x1b[K\r\n\x1b[K\r\n\x1b[7m PID\x1b[K\x1b[m\r\n   2\x1b[K\x1b[J",
		}, "top - 10:03\nTasks: 10\n\n PID\n   2"},
		{"tsc --watch", []string{"\x1bcfile change\r\n", "\x1bcFound 0 errors.\r\n"}, "Found 0 errors.\n"},
		{"vim", []string{
			"$ vim\r\n\x1b[?1049h\x1b[22;0;0t\x1b[?1h\x1b=\x1b[1;10r\x1b[H\x1b[2J",
			"package x\r\n~\x1b[10;1H\"x.go\" 1L\x1b[1;1H",
			"\x1b[r\x1b[10;1H\x1b[K\x1b[?1l\x1b>\x1b[?1049l\x1b[23;0;0t", "$ \r\n",
		}, "$ vim\n$\n"},
		{"apt, with a bar below the margin", []string{
			"a\r\n\r\n\x1b7\x1b[0;9r\x1b8\x1b[1A", "\x1b7\x1b[10;0f\x1b[42mProgress: [ 50%]\x1b[49m\x1b8",
			strings.Repeat("Unpacking\r\n", 12), "\x1b7\x1b[0;10r\x1b8\x1b[1A\x1b[Jdone\r\n",
		}, "a\n" + strings.Repeat("Unpacking\n", 11) + "done\n"},
		{"a title that is cut off", []string{"\x1b]0;make", "\r\nok\r\n"}, "\nok\n"},
		{"a title with CR in it", []string{"ab\x1b]0;make\r", "x\nok\r\n"}, "ab\n  ok\n"},
	} {
		t.Run(test.what, func(t *testing.T) {
			s := screen.New(40, 10, 1<<20, 0)
			for _, p := range test.written {
				s.Write([]byte(p))
			}
			text, truncated := cutText(s)
			require.Equal(t, test.text, text)
			require.False(t, truncated)
		})
	}
}

// For ordinary text, the result is the same as from a pipe.
func TestTextIsThatOfAPipe(t *testing.T) {
	words := []string{"a", "go", "test", "ok", "é", "日本", "🙂", "e\u0301", "ノ", "=", "0.123s", "שלום", "\u200fx",
		"👩\u200d👩\u200d👧", "\ufeff"}
	for n := range uint64(200) {
		random := rand.New(rand.NewPCG(n, 2))
		var b strings.Builder
		for range random.IntN(60) {
			for range random.IntN(1 + random.IntN(120)) {
				b.WriteString(strings.Repeat(" ", random.IntN(3)))
				b.WriteString(words[random.IntN(len(words))])
			}
			b.WriteString("\n")
		}
		pipe := b.String() + "end" + []string{"", "\n"}[n%2]
		text := textOf(t, 2+random.IntN(90), 1+random.IntN(30), strings.ReplaceAll(pipe, "\n", "\r\n"))
		require.Equal(t, pipe, text)
	}
}

// A sequence ends at the same place as in display.StripANSI, which shows the same output to the user.
func TestSequencesEndAsForStripANSI(t *testing.T) {
	pieces := []string{
		"\x1b]", "\x1bP", "\x1b[", "\x1b_", "\x1b^", "\x1bX", "\x1b", "\x1b(", "\u009d", "\u009b", "\u0090", "2;",
		"1", "m", "x", "text",
		"\a", "\x1b\\", "\u009c", "\x18", "\x1a", "é", "日", "\r\n", "\xff", "\x9b", "✓", "\x7f",
	}
	for n := range uint64(2000) {
		random := rand.New(rand.NewPCG(n, 3))
		var b strings.Builder
		for range 40 {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		want := strings.Map(func(c rune) rune {
			if c < 0x20 && c != '\n' || c == 0x7f {
				return -1
			}
			return c
		}, display.StripANSI(b.String()+"\x18.")) // the full stop avoids empty lines at the end
		require.Equal(t, want, textOf(t, 1000, 3, b.String()+"\x18."), "%q", b.String())
	}
}

func TestCharacters(t *testing.T) {
	for _, test := range []struct{ what, written, text string }{
		{"wide ones take two cells", "日本語\r\x1b[2Cx", "日x 語"},
		{"half of a wide one", "日本\r\x1b[Cx", " x本"},
		{"the other half", "日本\rx", "x 本"},
		{"wide in the last column", "abcdefg日", "abcdefg日"},
		{"wide over text", "abcdefgh\b日", "abcdef日"},
		{"wide after the last but one column", "abcdefgh\r\x1b[7C日", "abcdefgh日"},
		{"wide, erased by half", "日本\r\x1b[C\x1b[K", ""},
		{"wide, moved by half", "日本語\r\x1b[C\x1b[@", "   本語"},
		{"wide, taken out by half", "日本語\r\x1b[C\x1b[P", " 本語"},
		{"wide, moved out by half", "abcdef日\r\x1b[@", " abcdef"},
		{"repeated", "日\x1b[2b", "日日日"},
		{"combining ones take none", "e\u0301\u0302x\b\by", "yx"},
		{"combining after the last column", "abcdefgh\u0301i", "abcdefgh\u0301i"},
		{"combining on a wide one", "日\u3099x", "日\u3099x"},
		{"combining on nothing", "\u0301x", "\u0301x"},
		{"combining on a blank", "\x1b[2C\u0301x", "  \u0301x"},
		{"many combining", "e" + strings.Repeat("\u0301", 15) + "x", "e" + strings.Repeat("\u0301", 15) + "x"},
		{"combining is moved", "e\u0301x\r\x1b[@", " e\u0301x"},
		{"combining is taken out", "e\u0301xe\u0301\r\x1b[P", "xe\u0301"},
		{"combining is erased", "ae\u0301\b\x1b[Kx", "ax"},
		{"Hangul in parts", "\u1112\u1161\u11ab\r\x1b[2Cx", "\u1112\u1161\u11abx"},
		{"families", "👩\u200d👩\u200d👧x", "👩\u200d👩\u200d👧x"},
		{"variations, flags", "☺\ufe0f🇩🇪", "☺\ufe0f🇩🇪"},
		{"directions", "\u202eabc\u202c\u200e", "\u202eabc\u202c\u200e"},
		{"a no-break space is text", "a\u00a0", "a\u00a0"},
		{"not UTF-8", "a\xffb\x9bm\xc3(\xed\xa0\x80", "a\ufffdb\ufffdm\ufffd(\ufffd\ufffd\ufffd"},
		{"not UTF-8, in a title", "\x1b]0;\xff\xc3\x9c\xe2\ax", "x"},
		{"a title in UTF-8", "\x1b]0;✓ done\ax", "x"},
		{"unfinished", "a\xe2\x9c", "a"},
		{"unfinished before a sequence", "a\xe2\x9c\x1b[Cx", "a\ufffd\ufffd x"},
		{"unfinished C1", "a\xc2", "a"},
	} {
		t.Run(test.what, func(t *testing.T) {
			require.Equal(t, test.text, textOf(t, 8, 4, test.written))
		})
	}
	require.Equal(t, "日x", textOf(t, 1, 4, "日x"), "on a screen of one column")
	require.Equal(t, "日本x", textOf(t, 3, 1, "日本x"), "on a screen of one row")
	require.Equal(t, "      本", textOf(t, 8, 4, "\x1b[?7l\x1b[9C日本"), "without autowrap")
}

func TestUnfinishedCharacter(t *testing.T) {
	s := screen.New(8, 4, 100, 0)
	for _, step := range []struct{ written, text string }{
		{"a\xe2", "a"}, {"\x9c", "a"}, {"\x93", "a✓"}, {"\xe2\x9c", "a✓"}, {"b", "a✓\ufffd\ufffdb"},
		{"\xf0\x9f", "a✓\ufffd\ufffdb"},
	} {
		s.Write([]byte(step.written))
		text, _ := cutText(s)
		require.Equal(t, step.text, text)
	}
	s.Finish()
	s.Finish()
	text, _ := cutText(s)
	require.Equal(t, "a✓\ufffd\ufffdb\ufffd\ufffd", text)
}
