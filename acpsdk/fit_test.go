package acpsdk

// fit agrees exactly with encoding/json.

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestFit(t *testing.T) {
	const text = "a\x00\x1f\x7f\"\\/\b\f\n\r\t<>&é\u2028\u2029終\uFFFD😀z" // each kind of escape
	for limit := -1; limit < 100; limit++ {
		want := text
		for len(want) > 0 && encodedLength(want) > limit {
			_, size := utf8.DecodeRuneInString(want)
			want = want[size:]
		}
		require.Equal(t, want, fit(text, limit), limit)
	}
	require.Empty(t, fit("", -1))
}

// encodedLength returns the length of a text between the quotes of a JSON string.
func encodedLength(text string) int {
	encoded, _ := json.Marshal(text)
	return len(encoded) - len(`""`)
}
