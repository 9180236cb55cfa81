//go:build unix

package capture

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// newPipe returns a pipe whose reading end supports deadlines.
func newPipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { w.Close() })
	return r, w
}
