package acpsdk

// suffixThatFits is exact, compared with encoding/json.

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
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
	for c := range utf8.MaxRune + 1 {
		if utf8.ValidRune(c) {
			require.Equal(t, encodedLength(string(c)), encodedSize(c, utf8.RuneLen(c)), "%U", c)
		}
	}
	require.Equal(t, encodedLength("\xff"), encodedSize(utf8.RuneError, 1))
}

// encodedLength returns the length of a text between the quotes of a JSON string.
func encodedLength(text string) int {
	encoded, _ := json.Marshal(text)
	return len(encoded) - len(`""`)
}
