package screen_test

// The limit, sizes, and concurrent calls.

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/screen"
)

func TestLimit(t *testing.T) {
	const written = "aé✓😀\r\n日本語\r\n\r\nx\u0301y\r\n"
	const whole = "aé✓😀\n日本語\n\nx\u0301y\n"
	for _, rows := range []int{1, 2, 3, 10} { // the text is in the history, on the screen, or on both
		for limit := range len(whole) + 3 {
			s := screen.New(20, rows, int64(limit), 0)
			s.Write([]byte(written))
			text, truncated := cutText(s)
			require.Equal(t, lastOf(whole, limit), text, "limit %d", limit)
			require.Equal(t, limit < len(whole), truncated, "limit %d", limit)
		}
	}
}

// Blanks and newlines count towards the limit only once text follows, or if they are before the cursor.
func TestLimitWithBlanks(t *testing.T) {
	s := screen.New(20, 3, 10, 0)
	s.Write([]byte("text" + strings.Repeat("\r\n", 1000)))
	text, truncated := cutText(s)
	require.Equal(t, "text\n", text)
	require.False(t, truncated)
	s.Write([]byte("x"))
	text, truncated = cutText(s)
	require.Equal(t, strings.Repeat("\n", 9)+"x", text)
	require.True(t, truncated)
	s.Write([]byte("\r\n\r\n\r\ny" + strings.Repeat(" ", 1000)))
	text, _ = cutText(s)
	require.Equal(t, strings.Repeat(" ", 10), text, "they are before the cursor")
	s.Write([]byte("z"))
	text, _ = cutText(s)
	require.Equal(t, strings.Repeat(" ", 9)+"z", text)
}

// The limit may truncate the text of the visible alternate screen. The text of the main screen is complete again later.
func TestLimitInTheAlternateScreen(t *testing.T) {
	s := screen.New(20, 3, 10, 0)
	s.Write([]byte("main\x1b[?1049h\x1b[Hmore than the limit"))
	text, truncated := cutText(s)
	require.Equal(t, " the limit", text)
	require.True(t, truncated)
	s.Write([]byte("\x1b[?1049l"))
	text, truncated = cutText(s)
	require.Equal(t, "main", text)
	require.False(t, truncated)
}

func TestSizesOutOfBounds(t *testing.T) {
	for _, size := range [][2]int{{0, 0}, {-5, 1 << 40}, {1 << 40, -5}, {1, 1}, {1000, 1000}, {1001, 1001}} {
		s := screen.New(size[0], size[1], -1, 0)
		s.Write([]byte("abc\r\ndef"))
		text, truncated := cutText(s)
		require.Empty(t, text)
		require.True(t, truncated)

		s = screen.New(8, 4, 1<<62, 0)
		s.Write([]byte("abc\r\ndef"))
		s.Resize(size[0], size[1])
		text, truncated = cutText(s)
		require.Equal(t, "abc\ndef", text)
		require.False(t, truncated)
	}
}

func TestResize(t *testing.T) {
	for _, test := range []struct {
		what, written string
		columns, rows int
		after, text   string
	}{
		{"lower", "1\r\n2\r\n3\r\n4", 8, 2, "x\r\n5", "1\n2\n3\n4x\n5"},
		{"lower, with the cursor high", "1\r\n2\r\n3\r\n4\x1b[H", 8, 2, "x", "1\n2\nx\n4"},
		{"lower, with empty rows below", "1\r\n2", 8, 2, "x", "1\n2x"},
		{"higher", "1\r\n2\r\n3\r\n4\r\n5", 8, 6, "\r\n6\r\n7\r\n8", "1\n2\n3\n4\n5\n6\n7\n8"},
		{"narrower", "abcdefg\r\nx", 4, 4, "yz12", "abcdefg\nxyz12"},
		{"narrower, and the row changes", "abcdefg\r", 4, 4, "x", "xbcd"},
		{"narrower than the cursor is", "abcdefg", 4, 4, "hijk", "abcdefghijk"},
		{"wider", "abc", 12, 4, "defghijklm", "abcdefghijklm"},
		{"wider, with the wrap waiting", "abcdefgh", 12, 4, "ijklm", "abcdefghijklm"},
		{"wider, and wrapped before", "abcdefghijk", 12, 4, "l", "abcdefghijkl"},
		{"wide characters cut", "日本語\r", 3, 4, "\x1b[Cx", " x"},
		{"marks", "e\u0301\r", 12, 4, "\x1b[9Ce\u0301", "e\u0301        e\u0301"},
		{"the margins", "\x1b[2;3r", 8, 6, "\x1b[6;1Hx\r\ny", "\n\n\n\n\nx\ny"},
		{"in the alternate screen", "1\r\n2\r\n3\x1b[?1049h\x1b[Hvim", 8, 2, "\x1b[?1049lx", "1\n2\n3x"},
		{"behind the alternate screen, with the cursor high", "1\r\n2\r\n3\r\n4\x1b[2;1H\x1b[?1049h", 8, 3,
			"\x1b[?1049lx", "1\nx\n3\n4"},
		{"narrower than the saved cursor is", "abcdefg\x1b7\r", 4, 4, "\x1b8h", "abcdefgh"},
		{"narrower than the saved cursor is, and cells move", "abc\r\nabcdefg\x1b7\r",
			4, 4, "\x1b8\x1b[@x", "abc\nabcx"},
		{"the alternate screen", "1\x1b[?1049h\x1b[Hv\r\nv\r\nv", 8, 2, "i", "v\nvi"},
		{"the same", "abc", 8, 4, "d", "abcd"},
	} {
		t.Run(test.what, func(t *testing.T) {
			s := screen.New(8, 4, 1<<20, 0)
			s.Write([]byte(test.written))
			before, _ := cutText(s)
			s.Resize(test.columns, test.rows)
			if !strings.Contains(test.what, "alternate") {
				text, _ := cutText(s)
				require.Equal(t, before, text, "a size alone changes no text")
			}
			s.Write([]byte(test.after))
			text, _ := cutText(s)
			require.Equal(t, test.text, text)
		})
	}
}

func TestConcurrentCalls(t *testing.T) {
	s := screen.New(20, 5, 1000, 0)
	var all sync.WaitGroup
	for _, call := range []func(i int){
		func(i int) { s.Write(hostileInput(uint64(i), 20)) },
		func(i int) { s.Resize(i%30, i%10) },
		func(int) { s.Text() },
		func(int) { s.Finish() },
	} {
		all.Go(func() {
			for i := range 300 {
				call(i)
			}
		})
	}
	all.Wait()
	checkText(t, s, 1000)
}
