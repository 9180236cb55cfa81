package tail_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/remote/internal/tail"
)

// The end is kept, however the text is split into writes.
func TestKeepsTheEnd(t *testing.T) {
	text := strings.Repeat("0123456789", tail.Size)
	for _, size := range []int{1, 7, tail.Size - 1, tail.Size, tail.Size + 1, len(text)} {
		var b tail.Buffer
		for rest := text; rest != ""; {
			n, err := b.Write([]byte(rest[:min(size, len(rest))]))
			require.NoError(t, err)
			rest = rest[n:]
		}
		require.Equal(t, text[len(text)-tail.Size:], b.String(), "writes of %d bytes", size)
	}
}
