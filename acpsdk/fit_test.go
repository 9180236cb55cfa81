package acpsdk

// suffixThatFits agrees exactly with encoding/json.

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/longtest"
)

func TestSuffixThatFits(t *testing.T) {
	const text = "a\x00\x1f\x7f\"\\/\b\f\n\r\t<>&é\u2028\u2029終\uFFFD😀z" // each kind of escape
	for limit := -1; limit < 100; limit++ {
		want := text
		for len(want) > 0 && encodedLength(want) > limit {
			_, size := utf8.DecodeRuneInString(want)
			want = want[size:]
		}
		require.Equal(t, want, suffixThatFits(text, limit), limit)
	}
}

func TestEncodedSize(t *testing.T) {
	step := rune(longtest.Times(61, 1))
	for c := rune(0); c <= utf8.MaxRune; c++ {
		if c >= 0x3000 && c < 0xfff0 || c > 0x10010 && c < 0x10fff0 { // ranges without special characters
			c += step - 1
		}
		if utf8.ValidRune(c) && encodedLength(string(c)) != encodedSize(c, utf8.RuneLen(c)) {
			t.Errorf("%U: %d bytes, not %d", c, encodedSize(c, utf8.RuneLen(c)), encodedLength(string(c)))
		}
	}
	require.Equal(t, encodedLength("\xff"), encodedSize(utf8.RuneError, 1))
}

// encodedLength returns the length of a text between the quotes of a JSON string.
func encodedLength(text string) int {
	encoded, _ := json.Marshal(text)
	return len(encoded) - len(`""`)
}
