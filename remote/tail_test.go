package remote

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The end is kept, however the text is split into writes.
func TestTailKeepsTheEnd(t *testing.T) {
	text := strings.Repeat("0123456789", maxTail)
	for _, size := range []int{1, 7, maxTail - 1, maxTail, maxTail + 1, len(text)} {
		var b Tail
		for rest := text; rest != ""; {
			n, err := b.Write([]byte(rest[:min(size, len(rest))]))
			require.NoError(t, err)
			rest = rest[n:]
		}
		require.Equal(t, text[len(text)-maxTail:], b.String(), "writes of %d bytes", size)
	}
}
