package capture

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/proc"
)

// newPipe returns a pipe as a command's output is one.
func newPipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, handle, err := proc.OutputPipe()
	require.NoError(t, err)
	w = os.NewFile(uintptr(handle), "w")
	t.Cleanup(func() { w.Close() })
	return r, w
}
