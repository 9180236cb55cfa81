package capture

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"

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

// A write of no bytes is not the end of the output. Wine 8 does not let the reader notice such a write; Windows does.
func TestWriteOfNoBytes(t *testing.T) {
	c := start(t)
	for _, text := range []string{"a", "", "b", "", ""} {
		var n uint32
		require.NoError(t, windows.WriteFile(windows.Handle(c.w.Fd()), []byte(text), &n, nil))
		require.Equal(t, uint32(len(text)), n)
		c.drain(t)
	}
	require.Equal(t, "ab", c.sink.String())
	require.False(t, c.reader.Over())
	c.write(t, "c")
	require.NoError(t, c.w.Close())
	c.awaitEnd()
	require.Equal(t, "abc", c.sink.String())
}
