package capture

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/proc"
)

// newPipe returns a pipe of the kind that carries a command's output.
func newPipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, handle, err := proc.OutputPipe()
	require.NoError(t, err)
	w = os.NewFile(uintptr(handle), "w")
	t.Cleanup(func() { w.Close() })
	return r, w
}
