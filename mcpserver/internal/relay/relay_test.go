package relay

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadToken(t *testing.T) {
	for _, size := range []int{0, 1, 26, 40, maxToken} {
		token := strings.Repeat("x", size)
		r := strings.NewReader(token + "\nrest\n")
		read, err := ReadToken(r)
		require.NoError(t, err)
		require.Equal(t, token, read)
		rest, err := io.ReadAll(r)
		require.NoError(t, err)
		require.Equal(t, "rest\n", string(rest))
	}
	for _, input := range []string{"", "x", strings.Repeat("x", maxToken+1) + "\n", strings.Repeat("x", 1<<20)} {
		_, err := ReadToken(strings.NewReader(input))
		require.Error(t, err)
	}
}
