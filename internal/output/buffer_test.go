package output

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/longtest"
	"github.com/acpterm/acpterm/internal/racetest"
)

func TestMain(m *testing.M) { racetest.Main(m) }

// write writes p to the buffer as package capture does: in place, in pieces of at most size bytes.
func (r *Buffer) write(p []byte, size int) {
	for len(p) > 0 {
		n := copy(r.Reserve(size), p)
		r.Commit(n)
		p = p[n:]
	}
}

// model implements law 1 in the slow way: it keeps all output, decodes all of it, and truncates it on each read.
type model struct {
	raw    []byte
	closed bool
}

// character is the text of one character, and the number of raw bytes that it came from.
type character struct {
	text string
	raw  int
}

// characters returns all characters so far. It omits an unfinished character at the end.
func (m *model) characters() []character {
	var all []character
	for rest := m.raw; len(rest) > 0; {
		if !m.closed && !utf8.FullRune(rest) {
			break
		}
		c, n := utf8.DecodeRune(rest)
		all = append(all, character{string(c), n})
		rest = rest[n:]
	}
	return all
}

func (m *model) last(limit int) (text string, start int64) {
	all := m.characters()
	from, size := len(all), 0
	for from > 0 && size+len(all[from-1].text) <= limit {
		from--
		size += len(all[from].text)
	}
	for _, c := range all[:from] {
		start += int64(c.raw)
	}
	return joined(all[from:]), start
}

func (m *model) first(limit int) (text string, end int64) {
	for _, c := range m.characters() {
		if len(text)+len(c.text) > limit {
			break
		}
		text, end = text+c.text, end+int64(c.raw)
	}
	return text, end
}

func joined(all []character) string {
	var b strings.Builder
	for _, c := range all {
		b.WriteString(c.text)
	}
	return b.String()
}

// follow reads the output that the buffer has so far, as a follower does.
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

// checkAgainstModel writes raw in pieces to a buffer and to the model. It compares them after each piece and at the
// end.
func checkAgainstModel(t testing.TB, raw []byte, limit, head, piece, reserve int) {
	r, m := New(int64(limit), int64(head)), &model{}
	f := &follower{size: 8 + piece}
	compare := func() {
		wantText, wantStart := m.last(limit)
		for range 2 { // polling changes nothing
			text, start := r.Last(int64(limit))
			require.Equal(t, wantText, text)
			require.Equal(t, wantStart, start)
		}
		for _, asked := range []int{0, head / 2, head} {
			wantText, wantEnd := m.first(asked)
			text, end := r.Head(int64(asked))
			require.Equal(t, wantText, text, "the first %d bytes of at most %d", asked, head)
			require.Equal(t, wantEnd, end)
		}
		require.LessOrEqual(t, r.Kept(), r.Room())
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

	late := &follower{size: f.size} // shares the last Reads of f
	late.follow(t, r)
	require.Equal(t, int64(len(m.raw)), late.raw+late.missed)
	require.True(t, r.Read(f.at, f.size).Over)
	require.Equal(t, int64(len(m.raw)), f.raw+f.missed, "bytes shown and bytes missed are all there were")
	if f.missed == 0 {
		require.Equal(t, joined(m.characters()), f.text.String())
	} else {
		require.True(t, utf8.ValidString(f.text.String()))
	}
}

func TestBufferKeepsWholeCharactersAtEveryLimit(t *testing.T) {
	for _, raw := range []string{
		"", "a", "é", "✓", "😀", "aé✓😀", "😀✓éa", "ééééé", "✓✓✓", "😀😀😀", "abc✓", "✓abc", "x😀y✓zé",
		strings.Repeat("é✓😀", longtest.Times(10, 50)),
		"\xff", "\xff\xff\xff", "a\x80\x80\x80b", "\xe2\x9c", "\xe2\x9cX", "\xf0\x9f\x98", "😀\x80", "\xed\xa0\x80",
		"\x80\x80\x80\x80abc", "\xf0\x9f\x98\xf0\x9f\x98\x80",
	} {
		for limit := range 12 {
			for piece := 1; piece <= 5; piece++ {
				t.Run(fmt.Sprintf("%.12q/%d/%d", raw, limit, piece), func(t *testing.T) {
					checkAgainstModel(t, []byte(raw), limit, 12-limit, piece, 3)
				})
			}
		}
		checkAgainstModel(t, []byte(raw), 100, 90, 7, 64)
	}
}

func TestBufferGrowsNoFurtherThanItsLimit(t *testing.T) {
	const limit, head = 100_000, 30_000
	r := New(limit, head)
	require.Empty(t, r.buf, "nothing is held before there is output")
	r.write([]byte("small"), 512)
	require.Len(t, r.buf, 512)
	for range 100 {
		r.write(bytes.Repeat([]byte("0123456789"), 10_000), MaxReserve)
	}
	require.LessOrEqual(t, len(r.buf), limit+2*contextBytes+MaxReserve)
	require.LessOrEqual(t, cap(r.head), 2*head)
	require.EqualValues(t, limit+head, r.Room())
	require.EqualValues(t, limit+head, r.Kept())
	require.Equal(t, int64(10_000_005), r.Total())
}

func TestBufferWakesWhoWaits(t *testing.T) {
	r := New(10, 0)
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

// The command's end wakes a follower that waits at an unfinished character, and shows it the character.
func TestBufferWakesForAnUnfinishedCharacter(t *testing.T) {
	r := New(10, 0)
	r.write([]byte("a\xe2"), 2)
	g := r.Read(1, 10)
	require.Empty(t, g.Text)
	r.CommandEnded()
	require.Nil(t, r.Changed(g))
	g = r.Read(1, 10)
	require.Equal(t, "\ufffd", g.Text)
	require.NotNil(t, r.Changed(g))
}

// A slow reader learns exactly how many bytes it missed, and receives whole characters.
func TestBufferTellsWhatWasMissed(t *testing.T) {
	r := New(100, 0)
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

// FuzzBuffer compares the buffer with the model for any bytes, pieces and limits.
func FuzzBuffer(f *testing.F) {
	f.Add([]byte("aé✓😀\xff\xe2\x9c"), uint16(5), uint16(6), uint8(2), uint8(3))
	f.Add([]byte("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80"), uint16(6), uint16(9), uint8(1), uint8(1))
	f.Add(bytes.Repeat([]byte("✓"), 300), uint16(100), uint16(50), uint8(200), uint8(50))
	f.Fuzz(func(t *testing.T, raw []byte, limit, head uint16, piece, reserve uint8) {
		raw = raw[:min(len(raw), 600)] // the model's work grows with the square
		checkAgainstModel(t, raw, int(limit%700), int(head%700), 1+int(piece), 1+int(reserve))
	})
}

// After a Restart only later output is shown. A reader that continues from an earlier offset notices the Restart, even
// if it had read everything.
func TestBufferThatRestarts(t *testing.T) {
	r := New(8, 5)
	r.write([]byte("0123456789"), 4)
	text, start := r.Last(8)
	require.Equal(t, "23456789", text)
	require.EqualValues(t, 2, start)
	text, end := r.Head(5)
	require.Equal(t, "01234", text)
	require.EqualValues(t, 5, end)

	kept := r.Read(2, 64) // a Read that later ones could share
	read := r.Read(r.Total(), 64)
	changed := r.Changed(read)
	r.Restart()
	<-changed
	text, start = r.Last(8)
	require.Empty(t, text)
	require.Zero(t, start)
	require.Zero(t, r.Kept())
	text, end = r.Head(5)
	require.Empty(t, text)
	require.Zero(t, end)
	for _, from := range []int64{0, kept.Begin, read.End} { // read.End: a reader that has read everything
		e := r.Read(from, 64)
		require.Equal(t, e.Base, e.End)
		require.Greater(t, e.Base, from)
		require.Empty(t, e.Text)
	}
	runtime.KeepAlive(kept)

	r.write([]byte("€uro"), 2)
	text, start = r.Last(8)
	require.Equal(t, "€uro", text)
	require.Zero(t, start, "nothing of this was dropped")
	require.Equal(t, "€uro", r.Read(0, 64).Text)
	require.Equal(t, Window{Start: 11, End: 17, Head: []byte("€uro"), News: []byte("€uro"), Raw: []byte("€uro€uro")},
		r.Window(nil, 8, 0, 64))
	r.write([]byte("€uro"), 2)
	text, start = r.Last(8)
	require.Equal(t, "o€uro", text[len(text)-7:])
	require.EqualValues(t, 12-len(text), start)
	text, end = r.Head(5)
	require.Equal(t, "€ur", text)
	require.EqualValues(t, 5, end)
	require.EqualValues(t, 13, r.Kept(), "8 and 5")
	r.write([]byte("€uro"), 2)
	e := r.Read(read.End, 64)
	require.Greater(t, e.Begin, e.Base, "its beginning was dropped")
}

// Readers that began at different offsets soon read the same pieces and share their memory, which nothing else keeps.
func TestReadersShareText(t *testing.T) {
	const size = 64
	r := New(10_000, 0)
	r.write([]byte(strings.Repeat("a✓é😀", 300)), 100)
	first := make(map[int64]Excerpt)
	for from := int64(0); from < r.Total(); {
		e := r.Read(from, size)
		require.LessOrEqual(t, len(e.Raw), size)
		first[e.Begin] = e
		from = e.End
	}
	shared := 0
	for from := r.Total() - int64(len(r.recent)-2)*size; from < r.Total(); {
		e := r.Read(from, size)
		if other := first[e.Begin]; other.Text != "" && unsafe.StringData(other.Text) == unsafe.StringData(e.Text) {
			require.Equal(t, other, e)
			shared++
		}
		from = e.End
	}
	require.GreaterOrEqual(t, shared, len(r.recent)-4)
	large := r.Read(0, 1000)
	require.LessOrEqual(t, len(r.Read(0, size).Raw), size)
	runtime.KeepAlive(large)
	runtime.KeepAlive(first)

	begin := r.Total()
	r.write([]byte("a\xe2"), 2)
	short := r.Read(begin, size)
	require.Equal(t, "a", short.Text)
	r.write([]byte("\x9c\x93"), 2)
	more := r.Read(begin, size)
	require.Equal(t, "a✓", more.Text, "the same offset has more now")
	r.write([]byte("\xe2"), 2)
	r.Close()
	require.Equal(t, "a✓\ufffd", r.Read(begin, size).Text)
	runtime.KeepAlive([]Excerpt{short, more})

	clear(first)
	short, more = Excerpt{}, Excerpt{}
	runtime.GC()
	for i := range r.recent {
		require.Nil(t, r.recent[i].Value(), "no reader holds it")
	}
}
