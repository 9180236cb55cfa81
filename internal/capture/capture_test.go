package capture

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// collector is a Sink that keeps everything. It gives out room of the sizes that sizes returns, or what is asked for.
type collector struct {
	sizes func() int // nil: what is asked for

	mu      sync.Mutex
	room    []byte // given out and not committed
	output  []byte
	closed  bool
	misused string        // how the Sink's contract was broken
	changed chan struct{} // closed and replaced by each Commit of bytes
}

func newCollector() *collector { return &collector{changed: make(chan struct{})} }

func (c *collector) Reserve(n int) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case n < 1:
		c.misused = fmt.Sprintf("Reserve(%d)", n)
	case c.closed:
		c.misused = "Reserve after Close"
	}
	if c.sizes != nil {
		n = min(n, c.sizes())
	}
	c.room = make([]byte, n)
	return c.room
}

func (c *collector) Commit(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n < 0 || n > len(c.room) {
		c.misused = fmt.Sprintf("Commit(%d) of %d", n, len(c.room))
		return
	}
	c.output = append(c.output, c.room[:n]...)
	c.room = nil
	if n > 0 {
		close(c.changed)
		c.changed = make(chan struct{})
	}
}

func (c *collector) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		c.misused = "Close twice"
	}
	c.closed = true
}

func (c *collector) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(c.output)
}

func (c *collector) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// awaitBytes returns when n bytes are there, or stop is closed.
func (c *collector) awaitBytes(n int, stop <-chan struct{}) {
	for {
		c.mu.Lock()
		enough, changed := len(c.output) >= n, c.changed
		c.mu.Unlock()
		if enough {
			return
		}
		select {
		case <-changed:
		case <-stop:
			return
		}
	}
}

// captured is a pipe, and a Reader of it.
type captured struct {
	reader *Reader
	sink   *collector
	w      *os.File // the writing end
	busy   sync.WaitGroup
}

// start starts a Reader, which is stopped when the test ends.
func start(t *testing.T) *captured { return startWith(t, func(*Reader, *collector) {}) }

// startWith has prepare change the Reader and its Sink before the start.
func startWith(t *testing.T, prepare func(*Reader, *collector)) *captured {
	t.Helper()
	c := &captured{sink: newCollector()}
	r, w := newPipe(t)
	c.w, c.reader = w, newReader(r, c.sink)
	prepare(c.reader, c.sink)
	c.busy.Go(c.reader.run)
	t.Cleanup(func() {
		c.reader.Stop()
		c.busy.Wait()
		require.Empty(t, c.sink.misused)
		require.True(t, c.sink.closed)
		require.ErrorIs(t, r.Close(), os.ErrClosed)
	})
	return c
}

func (c *captured) write(t *testing.T, text string) {
	t.Helper()
	n, err := c.w.WriteString(text)
	require.NoError(t, err)
	require.Equal(t, len(text), n)
}

// drain returns when a drain is done.
func (c *captured) drain(t *testing.T) {
	t.Helper()
	done := make(chan struct{})
	c.reader.Drain(func() { close(done) })
	await(t, done, "the drain")
}

// awaitEnd returns when the Reader's goroutine has ended.
func (c *captured) awaitEnd() { c.busy.Wait() }

// await fails the test after a minute, so that what hangs is named.
func await(t *testing.T, done <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(time.Minute):
		require.FailNow(t, what+" hangs")
	}
}

func TestStartReadsUntilTheEnd(t *testing.T) {
	r, w := newPipe(t)
	var busy sync.WaitGroup
	sink := newCollector()
	reader := Start(r, sink, &busy)
	_, err := w.WriteString("text")
	require.NoError(t, err)
	require.NoError(t, w.Close())
	busy.Wait()
	require.Equal(t, "text", sink.String())
	require.True(t, sink.isClosed())
	require.True(t, reader.Over())
}

// What was written before a Drain is there when it is done, and the writer stays.
func TestDrainIsExact(t *testing.T) {
	for name, sizes := range map[string]func() int{
		"room as asked for": nil,
		"little room":       func() int { return 1 + rand.IntN(7) },
	} {
		t.Run(name, func(t *testing.T) {
			c := startWith(t, func(_ *Reader, sink *collector) { sink.sizes = sizes })
			var want strings.Builder
			for i := range 300 {
				text := strings.Repeat(string(rune('a'+i%26)), []int{0, 1, 100, 511, 512, 513, 5000}[i%7])
				if sizes == nil && i%50 == 0 {
					text = strings.Repeat("X", 3*maxRead) // more than the pipe holds
				}
				if text != "" {
					c.write(t, text)
				}
				want.WriteString(text)
				c.drain(t)
				require.Equal(t, want.Len(), len(c.sink.String()))
			}
			require.Equal(t, want.String(), c.sink.String())
			require.False(t, c.reader.Over())
		})
	}
}

// Drains from many goroutines interrupt reads while a writer goes on: no byte is lost or moved, and no drain is.
func TestDrainsInterruptReads(t *testing.T) {
	c := start(t)
	const lines = 2000
	written := make(chan struct{})
	go func() {
		defer close(written)
		defer c.w.Close()
		for i := range lines {
			if _, err := fmt.Fprintf(c.w, "%d\n", i); err != nil {
				return
			}
		}
	}()
	var drainers sync.WaitGroup
	for range 3 {
		drainers.Go(func() {
			for range 200 {
				done := make(chan struct{})
				c.reader.Drain(func() { close(done) })
				<-done
			}
		})
	}
	await(t, written, "the writer")
	all := make(chan struct{})
	go func() { drainers.Wait(); c.awaitEnd(); close(all) }()
	await(t, all, "a drain")
	var want bytes.Buffer
	for i := range lines {
		fmt.Fprintf(&want, "%d\n", i)
	}
	require.Equal(t, want.String(), c.sink.String())
}

// A read that waits for output is interrupted without an effect on what comes after.
func TestDrainOfAnEmptyPipe(t *testing.T) {
	c := start(t)
	for range 100 {
		c.drain(t)
	}
	c.write(t, "after")
	c.sink.awaitBytes(len("after"), nil)
	c.drain(t)
	require.Equal(t, "after", c.sink.String())
}

// At the end, drains are called when the Sink is closed, so that it shows an unfinished character.
func TestDrainAtTheEnd(t *testing.T) {
	for range 100 {
		c := start(t)
		c.write(t, "last")
		closed := make(chan bool, 3)
		drained := func() { closed <- c.sink.isClosed() }
		require.NoError(t, c.w.Close())
		c.reader.Drain(drained)
		c.reader.Drain(drained)
		c.awaitEnd()
		c.reader.Drain(drained)
		require.Len(t, closed, 3)
		for range 3 {
			require.True(t, <-closed)
		}
		require.Equal(t, "last", c.sink.String())
		require.True(t, c.reader.Over())
		c.reader.Stop()
	}
}

// Stop does not wait for a writer, takes what was written before, and leaves the pipe closed.
func TestStop(t *testing.T) {
	for i := range 100 {
		c := start(t)
		text := strings.Repeat("x", i*100)
		if text != "" {
			c.write(t, text)
		}
		drained := 0
		if i%2 == 0 {
			c.reader.Drain(func() { drained++ })
		}
		stopped := make(chan struct{})
		go func() {
			var stops sync.WaitGroup
			stops.Go(c.reader.Stop)
			stops.Go(c.reader.Stop)
			stops.Wait()
			close(stopped)
		}()
		await(t, stopped, "Stop")
		require.Equal(t, text, c.sink.String())
		require.True(t, c.sink.isClosed())
		require.True(t, c.reader.Over())
		c.awaitEnd()
		require.Equal(t, 1-i%2, drained)
		c.reader.Drain(func() { drained++ })
		require.Equal(t, 2-i%2, drained)
		_, err := c.w.WriteString("more")
		require.Error(t, err)
		c.w.Close()
	}
}

// A pause, which never ends here by itself, does not delay a Drain. Writes of a byte, each after the one before it was
// read, make the Reader pause as soon as eight of them took less than a millisecond.
func TestDrainEndsAPause(t *testing.T) {
	pausing := make(chan struct{})
	c := startWith(t, func(r *Reader, _ *collector) {
		r.after = func(time.Duration) <-chan time.Time {
			select {
			case <-pausing:
			default:
				close(pausing)
			}
			return nil
		}
	})
	written := 0
	for paused := false; !paused; {
		c.write(t, "x")
		written++
		c.sink.awaitBytes(written, pausing)
		select {
		case <-pausing:
			paused = true
		default:
		}
	}
	c.write(t, "yz")
	c.drain(t)
	require.Equal(t, strings.Repeat("x", written)+"yz", c.sink.String())
	require.NoError(t, c.w.Close())
}

func TestBackOff(t *testing.T) {
	for _, c := range []struct {
		name  string
		reads []int
		every time.Duration // between reads
		want  bool          // after the last one
	}{
		{"seven little reads", []int{1, 1, 1, 1, 1, 1, 1}, 0, false},
		{"eight little reads", []int{1, 1, 1, 1, 1, 1, 1, 1}, 0, true},
		{"eight slow reads", []int{1, 1, 1, 1, 1, 1, 1, 1}, littleTime, false},
		{"eight large reads", []int{1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024}, 0, false},
		{"one large read among little ones", []int{1, 1, 1, 8000, 1, 1, 1, 190}, 0, false},
		{"much in a pause", []int{1, 1, 1, 1, 1, 1, 1, 1, 1024, maxRead - 1}, 0, true},
		{"little in a pause", []int{1, 1, 1, 1, 1, 1, 1, 1, 1023}, 0, false},
		{"a full pipe in a pause", []int{1, 1, 1, 1, 1, 1, 1, 1, maxRead}, 0, false},
		{"little again", []int{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 0, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			var b backOff
			got := false
			for i, n := range c.reads {
				if i > 0 {
					time.Sleep(c.every)
				}
				got = b.read(n)
			}
			require.Equal(t, c.want, got, c.name)
		})
	}
}
