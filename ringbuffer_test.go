package acpterm

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// write puts p into the buffer the way a capture does: in place, in pieces of at most size bytes.
func (r *ringBuffer) write(p []byte, size int) {
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
func (f *follower) follow(t testing.TB, r *ringBuffer) {
	for {
		g := r.read(f.at, f.size)
		if g.end == f.at {
			return
		}
		require.GreaterOrEqual(t, g.begin, f.at)
		require.True(t, utf8.ValidString(g.text))
		f.missed += g.begin - f.at
		f.raw += g.end - g.begin
		f.text.WriteString(g.text)
		f.at = g.end
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
	r, m := newRingBuffer(int64(limit)), &model{}
	f := &follower{size: 8 + piece}
	compare := func() {
		wantText, wantTruncated := m.last(limit)
		for range 2 { // polling changes nothing
			text, truncated := r.last(int64(limit))
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

	require.True(t, r.read(f.at, f.size).over)
	require.Equal(t, int64(len(m.raw)), f.raw+f.missed, "bytes shown and bytes missed are all there were")
	if f.missed == 0 {
		require.Equal(t, strings.Join(m.characters(), ""), f.text.String())
	} else {
		require.True(t, utf8.ValidString(f.text.String()))
	}
}

func TestRingBufferKeepsWholeCharactersAtEveryLimit(t *testing.T) {
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

func TestRingBufferCountsInvalidBytesAsTheyAreShown(t *testing.T) {
	for limit, want := range map[int]int{10: 3, 100: 33, 2999: 999, 3000: 1000, 10_000: 1000} {
		r := newRingBuffer(int64(limit))
		r.write(bytes.Repeat([]byte{0xff}, 1000), 64)
		text, truncated := r.last(int64(limit))
		require.Equal(t, strings.Repeat("\uFFFD", want), text, "limit %d", limit)
		require.Equal(t, want < 1000, truncated, "limit %d", limit)
	}
}

func TestRingBufferOfLimitZeroRetainsNothing(t *testing.T) {
	r := newRingBuffer(0)
	text, truncated := r.last(0)
	require.Equal(t, "", text)
	require.False(t, truncated, "nothing was dropped yet")
	r.write([]byte("x"), 1)
	text, truncated = r.last(0)
	require.Equal(t, "", text)
	require.True(t, truncated)
}

func TestRingBufferGrowsNoFurtherThanItsLimit(t *testing.T) {
	const limit = 100_000
	r := newRingBuffer(limit)
	require.Empty(t, r.buf, "nothing is held before there is output")
	r.write([]byte("small"), 512)
	require.Len(t, r.buf, 512)
	for range 100 {
		r.write(bytes.Repeat([]byte("0123456789"), 10_000), maxReserve)
	}
	require.LessOrEqual(t, len(r.buf), limit+2*contextBytes+maxReserve)
	require.Equal(t, int64(10_000_005), r.total())
}

func TestRingBufferWakesWhoWaits(t *testing.T) {
	r := newRingBuffer(10)
	wait := r.changed(excerpt{})
	require.NotNil(t, wait)
	r.write([]byte("a"), 1)
	<-wait
	require.Nil(t, r.changed(excerpt{}), "there is more already")
	wait = r.changed(excerpt{total: 1})
	r.Close()
	<-wait
	require.Nil(t, r.changed(excerpt{total: 1}), "closed")
}

// A character that a command left unfinished is shown to a follower that looked before the command's end was known.
func TestRingBufferWakesForAnUnfinishedCharacter(t *testing.T) {
	r := newRingBuffer(10)
	r.write([]byte("a\xe2"), 2)
	g := r.read(1, 10)
	require.Empty(t, g.text)
	r.commandEnded()
	require.Nil(t, r.changed(g))
	g = r.read(1, 10)
	require.Equal(t, "\ufffd", g.text)
	require.NotNil(t, r.changed(g))
}

// A slow reader is told exactly what it missed, and what it gets are whole characters.
func TestRingBufferTellsWhatWasMissed(t *testing.T) {
	r := newRingBuffer(100)
	r.write([]byte(strings.Repeat("✓", 1000)), 64)
	g := r.read(1, 4096)
	require.Equal(t, strings.Repeat("✓", len(g.text)/3), g.text)
	require.GreaterOrEqual(t, len(g.text), 99)
	require.Equal(t, int64(3000), g.end)
	require.Equal(t, g.end-int64(len(g.text)), g.begin)
	require.Zero(t, g.begin%3)

	require.Equal(t, g, r.read(g.begin, 4096), "an offset that a excerpt named is one to go on from")
	require.Equal(t, "✓", r.read(g.begin+1, 8).text[:3], "an offset inside of a character moves to the next one")
	beyond := r.read(5000, 8)
	require.Equal(t, excerpt{begin: 5000, end: 5000, total: 3000}, beyond)
}

// FuzzRingBuffer holds the buffer against the model: any bytes, any pieces, any limit.
func FuzzRingBuffer(f *testing.F) {
	f.Add([]byte("aé✓😀\xff\xe2\x9c"), uint16(5), uint8(2), uint8(3))
	f.Add([]byte("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80"), uint16(6), uint8(1), uint8(1))
	f.Add(bytes.Repeat([]byte("✓"), 300), uint16(100), uint8(200), uint8(50))
	f.Fuzz(func(t *testing.T, raw []byte, limit uint16, piece, reserve uint8) {
		raw = raw[:min(len(raw), 600)] // the model's work grows with the square
		checkAgainstModel(t, raw, int(limit%700), 1+int(piece), 1+int(reserve))
	})
}

// Followers share what they find, each from where it is, and nothing is kept for them when they are gone.
func TestFollowersShare(t *testing.T) {
	r := newRingBuffer(100)
	write := func(text string) {
		copy(r.Reserve(len(text)), text)
		r.Commit(len(text))
	}
	write("0123456789")
	one, two := r.follow(), r.follow()
	require.Equal(t, "0123456789", r.read(0, 100).text)
	require.Equal(t, "56789", r.read(5, 100).text)
	require.Equal(t, "01234567", r.read(0, 8).text)
	write("abc")
	require.Equal(t, "0123456789", r.read(0, 100).text, "what was found before is good enough")
	require.Equal(t, "abc", r.read(10, 100).text, "and the rest comes next")
	for from := range int64(20) {
		r.read(from%13, 100)
	}
	require.Len(t, r.recent, maxRecent)
	one()
	require.Empty(t, r.recent)
	require.Equal(t, "0123456789abc", r.read(0, 100).text)
	require.Empty(t, r.recent, "there is nobody to share with")
	two()
}
