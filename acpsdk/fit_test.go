package acpsdk

// The cut is exact, held against what encoding/json makes.

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestLastThatFits(t *testing.T) {
	const text = "a\x00\x1f\x7f\"\\/\b\f\n\r\t<>&é\u2028\u2029終\uFFFD😀z" // each kind of escape
	for room := -1; room < 100; room++ {
		want := text
		for len(want) > 0 && encodedLength(want) > room {
			_, size := utf8.DecodeRuneInString(want)
			want = want[size:]
		}
		require.Equal(t, want, lastThatFits(text, room), room)
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

// encodedLength is how long a text is between the quotes of a JSON string.
func encodedLength(text string) int {
	encoded, _ := json.Marshal(text)
	return len(encoded) - len(`""`)
}
