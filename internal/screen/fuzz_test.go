package screen_test

// Properties that hold for any input.

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/longtest"
	"github.com/acpterm/acpterm/internal/screen"
)

// hostile are whole sequences, and beginnings and ends of sequences, for hostileInput.
var hostile = []string{
	"\x1b[", "\x1b]", "\x1bP", "\x1b_", "\x1b^", "\x1bX", "\x1b", "\x1b(", "\x1b\\", "\a", "\x18", "\x1a", "\u009b",
	"\u009d",
	"\u0090", "\u009c", "\x9b", "\x9c", "\xff", "\xe2\x9c", "\xf0\x9f", "\x80", "99999999999999999999", "-1", "0",
	"1", "2", "3",
	"5", "8", ";", ":", "?", "!p", " q", "@", "A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "M", "P",
	"S", "T",
	"X", "Z", "`", "a", "b", "d", "e", "f", "g", "h", "l", "m", "r", "s", "u", "\x1b[?1049h", "\x1b[?1049l",
	"\x1b[?47h",
	"\x1b[?1047l", "\x1b[?6h", "\x1b[?7l", "\x1b[?7h", "\x1b[4h", "\x1b[4l", "\x1b[2J", "\x1b[3J", "\x1bc", "\x1b[!p",
	"\x1b[2;3r", "\x1b[r", "\x1b[9999S", "\x1b[9999b", "\x1b[9999;9999H", "\x1b[H", "\x1b7", "\x1b8", "\x1bM", "\x1bD",
	"\x1bE", "\x1bH", "\r", "\n", "\r\n", "\b", "\t", "\v", "\x0e", "\x0f", "\x7f", "\x00", " ", "   ", "hello", "日本",
	"e\u0301",
	"\u0301", "\u200d", "\u200f", "👩\u200d👩", "🇩🇪", "\u00ad", "\u0085", "z\u0301\u0302\u0303\u0304\u0305\u0306",
	"\x1b(0", "\x1b)0", "0123456789abcdefghijklmnopqrstuvwxyz",
}

// hostileInput returns the hostile input with number n. The same arguments always give the same input.
func hostileInput(n uint64, pieces int) []byte {
	random := rand.New(rand.NewPCG(n, 1))
	var b []byte
	for range pieces {
		if random.IntN(8) == 0 {
			b = append(b, byte(random.IntN(256)))
		} else {
			b = append(b, hostile[random.IntN(len(hostile))]...)
		}
	}
	return b
}

// checkText checks the promises of Text, and returns the text.
func checkText(t testing.TB, s *screen.Screen, limit int) string {
	text, start := s.Text()
	require.True(t, utf8.ValidString(text), "%q", text)
	require.LessOrEqual(t, len(text), limit)
	for i, c := range text {
		if c != '\n' && unicode.IsControl(c) {
			t.Fatalf("%q at %d of %q", c, i, text)
		}
	}
	again, startAgain := s.Text()
	require.Equal(t, text, again)
	require.Equal(t, start, startAgain)
	return text
}

// change is a change of the size before the byte at an offset.
type change struct{ at, columns, rows int }

// written returns a screen after writing raw in chunks of at most size bytes, with the changes.
func written(raw []byte, changes []change, columns, rows, limit, head, size int) *screen.Screen {
	s := screen.New(columns, rows, int64(limit), int64(head))
	for at := 0; ; {
		for len(changes) > 0 && changes[0].at <= at {
			s.Resize(changes[0].columns, changes[0].rows)
			changes = changes[1:]
		}
		if at == len(raw) {
			return s
		}
		end := min(at+size, len(raw))
		if len(changes) > 0 {
			end = min(end, changes[0].at)
		}
		s.Write(raw[at:end])
		at = end
	}
}

// check checks the properties that hold for any input.
func check(t testing.TB, raw []byte, columns, rows, limit, size int) {
	var changes []change
	for at := 97; at < len(raw); at += 97 { // the sizes depend on the input
		changes = append(changes, change{at, 1 + int(raw[at])%40, 1 + int(raw[at-1])%12})
	}
	const all = 1 << 24
	unlimited := written(raw, changes, columns, rows, all, 0, len(raw)+1)
	whole := checkText(t, unlimited, all)
	require.Equal(t, whole, checkText(t, written(raw, changes, columns, rows, all, 0, size), all), "in chunks of %d", size)

	head := limit * size % 300
	limited := written(raw, changes, columns, rows, limit, head, size)
	text, start := limited.Text()
	checkText(t, limited, limit)
	require.EqualValues(t, len(whole)-len(text), start)
	require.Equal(t, lastOf(whole, limit), text)
	for _, asked := range []int{-1, 0, head / 2, head, head + 1} {
		require.Equal(t, firstOf(whole, max(0, min(asked, head))), limited.Head(int64(asked)), "%d of %d", asked, head)
	}

	unlimited.Finish()
	checkText(t, unlimited, all)
}

// lastOf returns the last characters of text, as many as fit into limit bytes.
func lastOf(text string, limit int) string {
	from := max(0, len(text)-limit)
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	return text[from:]
}

// firstOf returns the first characters of text, as many as fit into limit bytes.
func firstOf(text string, limit int) string {
	if limit >= len(text) {
		return text
	}
	for !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

func FuzzScreen(f *testing.F) {
	for n := range uint64(40) {
		f.Add(hostileInput(n, 60), uint8(n*7), uint8(n), uint16(n*n), uint8(n))
	}
	for _, seed := range []string{
		"\x1b[1;31mred\x1b[0m\r\n", "\x1b]0;title\r\nnext", strings.Repeat("long ", 50), "日本語\r\x1b[3Cx", "a\xe2\x9c",
	} {
		f.Add([]byte(seed), uint8(8), uint8(3), uint16(20), uint8(3))
	}
	f.Fuzz(func(t *testing.T, raw []byte, columns, rows uint8, limit uint16, size uint8) {
		check(t, raw[:min(len(raw), 4096)], int(columns), int(rows), int(limit), 1+int(size))
	})
}

func TestHostileInput(t *testing.T) {
	for n := range uint64(longtest.Times(100, 300)) {
		check(t, hostileInput(n, 400), 1+int(n%23), 1+int(n%7), int(n*3), 1+int(n%19))
	}
}
