package capture

// Reading from a pseudo console: drains finish at the end of the pipe, but Stop does not wait for the end.

import (
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// startPTY reads from a pipe as if it came from a pseudo console.
func startPTY(t *testing.T) (w *os.File, sink *collector, r *Reader) {
	t.Helper()
	pipe, w := newPipe(t)
	sink = new(collector)
	busy := new(sync.WaitGroup)
	r = StartPTY(pipe, sink, busy)
	t.Cleanup(func() {
		r.Stop()
		busy.Wait()
	})
	return w, sink, r
}

func TestPTYDrainIsAtTheEnd(t *testing.T) {
	for range 100 {
		w, sink, r := startPTY(t)
		w.WriteString("one ")
		drained := make(chan string, 2)
		r.Drain(func() { drained <- sink.String() })
		w.WriteString("two ")
		r.Drain(func() { drained <- sink.String() })
		w.WriteString("three")
		require.Empty(t, drained)
		require.NoError(t, w.Close())
		require.Equal(t, "one two three", <-drained)
		require.Equal(t, "one two three", <-drained)
		require.True(t, r.Over())
		r.Drain(func() { drained <- "at once" })
		require.Equal(t, "at once", <-drained)
	}
}

// Stop reads the present contents of the pipe and finishes pending drains, although the pipe is open.
func TestPTYStopDoesNotWaitForTheEnd(t *testing.T) {
	for i := range 100 {
		w, sink, r := startPTY(t)
		drained := make(chan string, 1)
		if i%2 == 0 {
			r.Drain(func() { drained <- sink.String() })
		}
		w.WriteString("text")
		r.Stop()
		require.Equal(t, "text", sink.String())
		if i%2 == 0 {
			require.Equal(t, "text", <-drained)
		}
		_, err := w.WriteString("late")
		require.Error(t, err)
	}
}
