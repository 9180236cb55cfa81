package capture

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/acpterm/acpterm/internal/output"
	"github.com/stretchr/testify/require"
)

// testPage returns a code page in which 0x81 to 0x9f begin a two-byte character, and 0xe9 is é.
func testPage() *CodePage {
	p := &CodePage{Pair: func(lead, trail byte) string { return fmt.Sprintf("{%02x%02x}", lead, trail) }}
	for i := range p.Single {
		switch b := i + 0x80; {
		case b < 0x81 || b > 0x9f:
			p.Single[i] = string(rune(b))
		}
	}
	return p
}

// decoded writes pieces to a Decoder and returns all of its output, and the output readable before Close.
func decoded(t testing.TB, page func() *CodePage, pieces ...string) (all, before string) {
	b := output.New(1<<20, 0)
	d := NewDecoder(b, page)
	for _, piece := range pieces {
		for len(piece) > 0 {
			n := copy(d.Reserve(len(piece)), piece)
			d.Commit(n)
			piece = piece[n:]
			require.Less(t, len(d.held), utf8.UTFMax)
		}
	}
	before = b.Read(0, 1<<20).Raw
	d.Close()
	d.Flush() // has no effect after Close
	all = b.Read(0, 1<<20).Raw
	return all, before
}

func TestDecoder(t *testing.T) {
	for _, c := range []struct{ name, written, want, withheld string }{
		{"nothing", "", "", ""},
		{"ASCII", "a\r\nb", "a\r\nb", ""},
		{"UTF-8", "é✓😀\n", "é✓😀\n", ""},
		{"one byte", "caf\xe9!", "café!", ""},
		{"UTF-8 first, then not", "é caf\xe9 é\n", "é café Ã©\n", ""},
		{"the next line is UTF-8 again", "\xe9\né\n\xe9\n", "é\né\né\n", ""},
		{"two bytes", "\x81\x40\x9f\xff.", "{8140}{9fff}.", ""},
		{"a second byte that is ASCII", "\x81\\\x81|x", "{815c}{817c}x", ""},
		{"a line ends in the middle of two bytes", "a\x81\nb", "a\uFFFD\nb", ""},
		{"the end comes in the middle of two bytes", "\xe9.\x81", "é.\uFFFD", "\uFFFD"},
		{"the end comes in the middle of UTF-8", "x\xe9", "xé", "é"},
		{"the end comes late in UTF-8", "\xf0\x9f\x98", "ð{9f98}", "ð{9f98}"},
		{"UTF-8 that is cut", "\xe2\x9c.", "â{9c2e}", ""},
		{"no code page has a surrogate in UTF-8", "\xed\xa0\x80", "í\u00a0\u0080", ""},
	} {
		all, before := decoded(t, testPage, c.written)
		require.Equal(t, c.want, all, c.name)
		require.Equal(t, strings.TrimSuffix(c.want, c.withheld), before, c.name)
	}
}

// Without a code page all bytes are passed on unchanged, and the buffer withholds an unfinished character.
func TestDecoderWithoutACodePage(t *testing.T) {
	calls := 0
	none := func() *CodePage {
		calls++
		return nil
	}
	const written = "caf\xe9 \x81\n\xe2\x9c\x93\xff\xe2\x9c"
	all, before := decoded(t, none, strings.SplitAfter(written, "")...)
	require.Equal(t, written, all)
	require.Equal(t, strings.TrimSuffix(written, "\xe2\x9c"), before)
	require.Equal(t, 1, calls)
	_, _ = decoded(t, func() *CodePage { panic("there was only UTF-8") }, "é✓\n", "\xe2", "\x9c\x93")
}

// An unfinished character is shown when the command ends, and later output of other processes is also decoded.
func TestDecoderFlush(t *testing.T) {
	b := output.New(100, 0)
	d := NewDecoder(b, testPage)
	write := func(text string) {
		n := copy(d.Reserve(len(text)), text)
		d.Commit(n)
	}
	write("a\xc3")
	require.Equal(t, "a", b.Read(0, 100).Text)
	d.Flush()
	b.CommandEnded()
	require.Equal(t, "aÃ", b.Read(0, 100).Text)
	write("\xa9\xc3\n\xc3")
	write("\xa9")
	require.Equal(t, "aÃ©Ã\né", b.Read(0, 100).Text)
	d.Close()
}

// The text is valid UTF-8 and does not depend on how the input is split into pieces.
func FuzzDecoder(f *testing.F) {
	f.Add([]byte("plain\r\né✓😀\n"), uint64(0x5555))
	f.Add([]byte("\xe9\x81\x40\n\xe2\x9c\x93\xe2\x9c\x81"), uint64(0xffff))
	f.Add([]byte("\xf0\x9f\x98\x80\xf0\x9f\n\x81\n"), uint64(1<<7|1<<3))
	f.Fuzz(func(t *testing.T, written []byte, cuts uint64) {
		whole, _ := decoded(t, testPage, string(written))
		require.True(t, utf8.ValidString(whole))
		if utf8.Valid(written) {
			require.Equal(t, string(written), whole)
		}
		var pieces []string
		from := 0
		for i := range written {
			if cuts>>(i%64)&1 == 1 {
				pieces = append(pieces, string(written[from:i]))
				from = i
			}
		}
		inPieces, _ := decoded(t, testPage, append(pieces, string(written[from:]))...)
		require.Equal(t, whole, inPieces)
		require.LessOrEqual(t, len(whole), len("{8140}")*len(written))
	})
}
