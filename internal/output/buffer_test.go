package output

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// write puts p into the buffer the way a capture does: in place, in pieces of at most size bytes.
func (r *Buffer) write(p []byte, size int) {
	for len(p) > 0 {
		n := copy(r.Reserve(size), p)
		r.Commit(n)
		p = p[n:]
	}
}

// model is law 1 the slow way: keep everything, decode all of it, cut on read.
type model struct {
	raw    []byte
	closed bool
}

// characters returns the text of each character so far: the last one is left out while it can still be
// finished.
func (m *model) characters() []string {
	var all []string
	for rest := m.raw; len(rest) > 0; {
		if !m.closed && !utf8.FullRune(rest) {
			break
		}
		c, n := utf8.DecodeRune(rest)
		all = append(all, string(c))
		rest = rest[n:]
	}
	return all
}

func (m *model) last(limit int) (string, bool) {
	all := m.characters()
	from, size := len(all), 0
	for from > 0 && size+len(all[from-1]) <= limit {
		from--
		size += len(all[from])
	}
	return strings.Join(all[from:], ""), from > 0
}

// follow reads the buffer from the start as a follower does, as far as it has come.
func (f *follower) follow(t testing.TB, r *Buffer) {
	for {
		g := r.Read(f.at, f.size)
		if g.End == f.at {
			return
		}
		require.GreaterOrEqual(t, g.Begin, f.at)
		require.True(t, utf8.ValidString(g.Text))
		f.missed += g.Begin - f.at
		f.raw += g.End - g.Begin
		f.text.WriteString(g.Text)
		f.at = g.End
	}
}

type follower struct {
	at, missed, raw int64
	size            int
	text            strings.Builder
}

// checkAgainstModel writes raw in pieces to a buffer and to the model and compares them after each piece
// and after the end.
func checkAgainstModel(t testing.TB, raw []byte, limit, piece, reserve int) {
	r, m := New(int64(limit)), &model{}
	f := &follower{size: 8 + piece}
	compare := func() {
		wantText, wantTruncated := m.last(limit)
		for range 2 { // polling changes nothing
			text, truncated := r.Last(int64(limit))
			require.Equal(t, wantText, text)
			require.Equal(t, wantTruncated, truncated)
		}
		f.follow(t, r)
	}
	compare()
	for len(raw) > 0 {
		n := min(piece, len(raw))
		r.write(raw[:n], reserve)
		m.raw = append(m.raw, raw[:n]...)
		raw = raw[n:]
		compare()
	}
	m.closed = true
	r.Close()
	compare()

	require.True(t, r.Read(f.at, f.size).Over)
	require.Equal(t, int64(len(m.raw)), f.raw+f.missed, "bytes shown and bytes missed are all there were")
	if f.missed == 0 {
		require.Equal(t, strings.Join(m.characters(), ""), f.text.String())
	} else {
		require.True(t, utf8.ValidString(f.text.String()))
	}
}

func TestBufferKeepsWholeCharactersAtEveryLimit(t *testing.T) {
	for _, raw := range []string{
		"", "a", "é", "✓", "😀", "aé✓😀", "😀✓éa", "ééééé", "✓✓✓", "😀😀😀", "abc✓", "✓abc", "x😀y✓zé",
		strings.Repeat("é✓😀", 50),
		"\xff", "\xff\xff\xff", "a\x80\x80\x80b", "\xe2\x9c", "\xe2\x9cX", "\xf0\x9f\x98", "😀\x80", "\xed\xa0\x80",
		"\x80\x80\x80\x80abc", "\xf0\x9f\x98\xf0\x9f\x98\x80",
	} {
		for limit := range 12 {
			for piece := 1; piece <= 5; piece++ {
				t.Run(fmt.Sprintf("%.12q/%d/%d", raw, limit, piece), func(t *testing.T) {
					checkAgainstModel(t, []byte(raw), limit, piece, 3)
				})
			}
		}
		checkAgainstModel(t, []byte(raw), 100, 7, 64)
	}
}

func TestBufferCountsInvalidBytesAsTheyAreShown(t *testing.T) {
	for limit, want := range map[int]int{10: 3, 100: 33, 2999: 999, 3000: 1000, 10_000: 1000} {
		r := New(int64(limit))
		r.write(bytes.Repeat([]byte{0xff}, 1000), 64)
		text, truncated := r.Last(int64(limit))
		require.Equal(t, strings.Repeat("\uFFFD", want), text, "limit %d", limit)
		require.Equal(t, want < 1000, truncated, "limit %d", limit)
	}
}

func TestBufferOfLimitZeroRetainsNothing(t *testing.T) {
	r := New(0)
	text, truncated := r.Last(0)
	require.Equal(t, "", text)
	require.False(t, truncated, "nothing was dropped yet")
	r.write([]byte("x"), 1)
	text, truncated = r.Last(0)
	require.Equal(t, "", text)
	require.True(t, truncated)
}

func TestBufferGrowsNoFurtherThanItsLimit(t *testing.T) {
	const limit = 100_000
	r := New(limit)
	require.Empty(t, r.buf, "nothing is held before there is output")
	r.write([]byte("small"), 512)
	require.Len(t, r.buf, 512)
	for range 100 {
		r.write(bytes.Repeat([]byte("0123456789"), 10_000), MaxReserve)
	}
	require.LessOrEqual(t, len(r.buf), limit+2*contextBytes+MaxReserve)
	require.Equal(t, int64(10_000_005), r.Total())
}

func TestBufferWakesWhoWaits(t *testing.T) {
	r := New(10)
	wait := r.Changed(Excerpt{})
	require.NotNil(t, wait)
	r.write([]byte("a"), 1)
	<-wait
	require.Nil(t, r.Changed(Excerpt{}), "there is more already")
	wait = r.Changed(Excerpt{total: 1})
	r.Close()
	<-wait
	require.Nil(t, r.Changed(Excerpt{total: 1}), "closed")
}

// A character that a command left unfinished is shown to a follower that looked before the command's end was known.
func TestBufferWakesForAnUnfinishedCharacter(t *testing.T) {
	r := New(10)
	r.write([]byte("a\xe2"), 2)
	g := r.Read(1, 10)
	require.Empty(t, g.Text)
	r.CommandEnded()
	require.Nil(t, r.Changed(g))
	g = r.Read(1, 10)
	require.Equal(t, "\ufffd", g.Text)
	require.NotNil(t, r.Changed(g))
}

// A slow reader is told exactly what it missed, and what it gets are whole characters.
func TestBufferTellsWhatWasMissed(t *testing.T) {
	r := New(100)
	r.write([]byte(strings.Repeat("✓", 1000)), 64)
	g := r.Read(1, 4096)
	require.Equal(t, strings.Repeat("✓", len(g.Text)/3), g.Text)
	require.GreaterOrEqual(t, len(g.Text), 99)
	require.Equal(t, int64(3000), g.End)
	require.Equal(t, g.End-int64(len(g.Text)), g.Begin)
	require.Zero(t, g.Begin%3)

	require.Equal(t, g, r.Read(g.Begin, 4096), "an offset that an excerpt named is one to go on from")
	require.Equal(t, "✓", r.Read(g.Begin+1, 8).Text[:3], "an offset inside of a character moves to the next one")
	beyond := r.Read(5000, 8)
	require.Equal(t, Excerpt{Begin: 5000, End: 5000, total: 3000}, beyond)
}

// FuzzBuffer holds the buffer against the model: any bytes, any pieces, any limit.
func FuzzBuffer(f *testing.F) {
	f.Add([]byte("aé✓😀\xff\xe2\x9c"), uint16(5), uint8(2), uint8(3))
	f.Add([]byte("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80"), uint16(6), uint8(1), uint8(1))
	f.Add(bytes.Repeat([]byte("✓"), 300), uint16(100), uint8(200), uint8(50))
	f.Fuzz(func(t *testing.T, raw []byte, limit uint16, piece, reserve uint8) {
		raw = raw[:min(len(raw), 600)] // the model's work grows with the square
		checkAgainstModel(t, raw, int(limit%700), 1+int(piece), 1+int(reserve))
	})
}

// After a Restart only what is written from then on is shown, and a reader that goes on from an earlier offset finds out,
// whatever it had read.
func TestBufferThatRestarts(t *testing.T) {
	r := New(8)
	r.write([]byte("0123456789"), 4)
	text, truncated := r.Last(8)
	require.Equal(t, "23456789", text)
	require.True(t, truncated)

	read := r.Read(r.Total(), 64)
	changed := r.Changed(read)
	r.Restart()
	<-changed
	text, truncated = r.Last(8)
	require.Empty(t, text)
	require.False(t, truncated)
	for _, from := range []int64{0, 5, read.End} { // one that has read everything, too
		e := r.Read(from, 64)
		require.Equal(t, e.Base, e.End)
		require.Greater(t, e.Base, from)
		require.Empty(t, e.Text)
	}

	r.write([]byte("€uro"), 2)
	text, truncated = r.Last(8)
	require.Equal(t, "€uro", text)
	require.False(t, truncated, "nothing of this was dropped")
	require.Equal(t, "€uro", r.Read(0, 64).Text)
	require.Equal(t, Window{Start: 11, End: 17, Head: []byte("€uro"), News: []byte("€uro"), Raw: []byte("€uro€uro")},
		r.Window(nil, 8, 0, 64))
	r.write([]byte("€uro"), 2)
	text, truncated = r.Last(8)
	require.Equal(t, "o€uro", text[len(text)-7:])
	require.True(t, truncated)
	r.write([]byte("€uro"), 2)
	e := r.Read(read.End, 64)
	require.Greater(t, e.Begin, e.Base, "its beginning was dropped")
}
