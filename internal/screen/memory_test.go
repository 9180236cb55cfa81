package screen

// Memory is bounded. The tests count it in the data structures.

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// room returns the allocated number of cells, marks of cells, and bytes of text.
func (s *Screen) room() (cells, marks, text int) {
	for _, l := range append(append([]*line(nil), s.lines...), s.main...) {
		cells += cap(l.cells)
		marks += cap(l.marks)
	}
	kept := reflect.ValueOf(s.history.kept).Elem()
	return cells, marks, cap(s.history.row) + kept.FieldByName("buf").Len() + kept.FieldByName("head").Cap()
}

func TestMemoryIsBounded(t *testing.T) {
	const limit, head = 100_000, 30_000
	s := New(200, 50, limit, head)
	for _, piece := range []string{
		"text\r\n", "\r\n", strings.Repeat("\r\n", 90_000) + "x",
		strings.Repeat("x", 1000), "\x1b]0;" + strings.Repeat("t", 5000),
		"\x1b\\\x1bP" + strings.Repeat("d", 5000),
		"\x1b\\\x1b[" + strings.Repeat("1;", 5000), "m\x1b[" + strings.Repeat("9", 5000),
		"m\x1b" + strings.Repeat("(", 5000),
		"Be" + strings.Repeat("\u0301", 5000), "日\u3099\u3099\u3099\u3099",
		"\x1b[?1049h" + strings.Repeat("日\u3099", 5000), "\x1b[9999b",
		"\x1b[9999S", "\x1b[2J", "\x1bc", "\x1b[?1049l", "\x1b[9999;9999Hx", "\xf0\x9f\x98",
		strings.Repeat("\xff", 5000),
	} {
		s.Write(bytes.Repeat([]byte(piece), 1+30_000/len(piece)))
		s.Resize(len(piece)%200, len(piece)%50)
		s.Write([]byte(piece))
		s.Resize(200, 50)
		cells, marks, text := s.room()
		require.LessOrEqual(t, cells, 2*2*200*50, "%.20q", piece) // for two screens; capacity may be twice the length
		require.LessOrEqual(t, marks, 2*2*200*50, "%.20q", piece)
		require.LessOrEqual(t, cap(s.history.row), maxRow)
		require.LessOrEqual(t, text, limit+2*head+6+200*maxMarks*8+64<<10, "%.20q", piece)
	}
}

// A screen of the largest size allocates nothing before text arrives.
func TestEmptyScreenHasNoCells(t *testing.T) {
	s := New(maxSize, maxSize, 1<<40, 1<<40)
	cells, marks, text := s.room()
	require.Zero(t, cells+marks+text)
	s.Write([]byte("\x1b[1000;1000Hx\x1b[2J"))
	cells, marks, text = s.room()
	require.Equal(t, maxSize, cells)
	require.Zero(t, marks)
	require.LessOrEqual(t, text, 8*maxSize)
}

// checkLines checks invariants that hold for any input. For example, a wide character has both of its cells, and cells
// after the end are empty.
func checkLines(t testing.TB, s *Screen) {
	require.Len(t, s.lines, s.rows)
	require.True(t, s.x >= 0 && s.x < s.columns && s.y >= 0 && s.y < s.rows)
	require.True(t, s.top >= 0 && s.top <= s.bottom && s.bottom < s.rows)
	seen := map[*line]bool{}
	for _, l := range append(append([]*line(nil), s.lines...), s.main...) {
		require.False(t, seen[l], "a row is there twice")
		seen[l] = true
		require.LessOrEqual(t, l.end, len(l.cells))
		require.True(t, l.marks == nil || len(l.marks) == len(l.cells))
		for x, c := range l.cells {
			isWide := c > 0 && width(c) == 2
			if c == tail {
				require.True(t, x > 0 && width(l.cells[x-1]) == 2)
			}
			if x >= l.end {
				require.Zero(t, c)
			}
			if isWide && len(l.cells) > 1 {
				require.True(t, x+1 == len(l.cells) || l.cells[x+1] == tail || s.columns == 1, "%d", x)
			}
			if l.marks != nil && l.marks[x][0] != 0 {
				require.NotZero(t, c)
				require.NotEqual(t, tail, c)
			}
		}
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("日本\u3099\r\x1b[C\x1b[@\x1b[P\x1b[X\x1b[?1049hx\x1b[?1049l"), uint8(7))
	f.Add([]byte("e\u0301\x1b[9b\x1b[4h日\x1b[H日\x1b[4l\x1b[2;3r\x1b[L\x1b[M\x1bM\x1b[?7l日日日日日日"), uint8(3))
	f.Fuzz(func(t *testing.T, raw []byte, columns uint8) {
		s := New(2+int(columns)%40, 4, 100, 0)
		for len(raw) > 0 {
			n := min(len(raw), 13)
			s.Write(raw[:n])
			checkLines(t, s)
			s.Resize(2+int(raw[0])%30, 1+int(raw[n-1])%8)
			checkLines(t, s)
			raw = raw[n:]
		}
	})
}
