package wire

// Fit agrees exactly with encoding/json, and a line that answers a poll is no longer than MaxLine.

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/longtest"
)

func TestFit(t *testing.T) {
	const text = "a\x00\x1f\x7f\"\\/\b\f\n\r\t<>&é\u2028\u2029終\uFFFD😀z" // each kind of escape
	for limit := -1; limit < 100; limit++ {
		want := text
		for len(want) > 0 && encodedLength(want) > limit {
			_, size := utf8.DecodeRuneInString(want)
			want = want[size:]
		}
		require.Equal(t, want, Fit(text, limit), limit)
	}
	require.Empty(t, Fit("", -1))
}

func TestFitCountsEveryCharacter(t *testing.T) {
	step := rune(longtest.Times(61, 1))
	for c := rune(0); c <= utf8.MaxRune; c++ {
		if c >= 0x3000 && c < 0xfff0 || c > 0x10010 && c < 0x10fff0 { // ranges without special characters
			c += step - 1
		}
		if length := encodedLength(string(c)); utf8.ValidRune(c) &&
			(Fit(string(c), length) == "" || Fit(string(c), length-1) != "") {
			t.Errorf("%U does not take %d bytes", c, length)
		}
	}
}

// encodedLength returns the length of a text between the quotes of a JSON string.
func encodedLength(text string) int {
	encoded, _ := json.Marshal(text)
	return len(encoded) - len(`""`)
}

// FuzzFit compares with both encoders.
func FuzzFit(f *testing.F) {
	f.Add("a\x00<é\u2028\n", uint16(9))
	f.Fuzz(func(t *testing.T, text string, limit uint16) {
		text = string([]rune(text))
		fits := Fit(text, int(limit))
		require.Equal(t, text[len(text)-len(fits):], fits)
		require.True(t, utf8.ValidString(fits))
		require.LessOrEqual(t, encodedLength(fits), int(limit))
		require.LessOrEqual(t, len(appendEscaped(nil, []byte(fits))), int(limit))
		if rest := text[:len(text)-len(fits)]; rest != "" {
			_, size := utf8.DecodeLastRuneInString(rest)
			require.Greater(t, encodedLength(text[len(rest)-size:]), int(limit), "one more character fits")
		}
	})
}

// A line of exactly MaxLine bytes is written. A longer one is not, not even in part.
func TestReplyIsNoLongerThanMaxLine(t *testing.T) {
	for name, end := range map[string]string{"valid": "", "invalid": "\xff"} {
		t.Run(name, func(t *testing.T) {
			o := newBuffered(16<<20, 0)
			o.write(append(bytes.Repeat([]byte{1}, MaxLine/6-200), end...))
			var cache Cache
			written := 0
			reply := func() error {
				written = 0
				return cache.Reply(o, []byte("7"), func(p []byte) error {
					written += len(p)
					return nil
				})
			}
			require.NoError(t, reply())
			o.write(bytes.Repeat([]byte("x"), MaxLine-written))
			require.NoError(t, reply())
			require.Equal(t, MaxLine, written)
			o.write([]byte("x"))
			for range 2 {
				require.Equal(t, ErrTooLong, reply())
				require.Zero(t, written)
			}
			o.write(bytes.Repeat([]byte("x"), 15<<20)) // moves the escapes out of the limit
			require.NoError(t, reply())
		})
	}
}
