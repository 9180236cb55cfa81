package capture

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/racetest"
)

func TestMain(m *testing.M) { racetest.Main(m) }

// collector is a Sink that keeps all output.
type collector struct {
	sizes func() int // maximum room for the next read; if nil, the requested size

	mu      sync.Mutex
	room    []byte // reserved but not committed
	output  []byte
	closed  bool
	misused string // a violation of the Sink's contract
}

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

// captured is a pipe and its Reader.
type captured struct {
	reader *Reader
	sink   *collector
	w      *os.File // the writing end
	busy   sync.WaitGroup
}

// start starts a Reader and stops it at the end of the test.
func start(t *testing.T, sink *collector) *captured {
	t.Helper()
	r, w := newPipe(t)
	c := &captured{sink: sink, w: w}
	c.reader = Start(r, sink, &c.busy)
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

// drain calls Drain and waits for it.
func (c *captured) drain(t *testing.T) {
	t.Helper()
	done := make(chan struct{})
	c.reader.Drain(func() { close(done) })
	await(t, done, "the drain")
}

// await waits for done. It fails the test after a minute, and names the cause.
func await(t *testing.T, done <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(time.Minute):
		require.FailNow(t, what+" hangs")
	}
}

func TestStartReadsUntilTheEnd(t *testing.T) {
	c := start(t, new(collector))
	c.write(t, "text")
	require.NoError(t, c.w.Close())
	c.busy.Wait()
	require.Equal(t, "text", c.sink.String())
	require.True(t, c.sink.isClosed())
	require.True(t, c.reader.Over())
}

// A finished Drain has passed on every byte written before it. The writer stays open.
func TestDrainIsExact(t *testing.T) {
	for name, sizes := range map[string]func() int{
		"room as asked for": nil,
		"little room":       func() int { return 1 + rand.IntN(7) },
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, &collector{sizes: sizes})
			var want strings.Builder
			for i := range 300 {
				text := strings.Repeat(string(rune('a'+i%26)), []int{0, 1, 100, 511, 512, 513, 5000}[i%7])
				if sizes == nil && i%50 == 0 {
					text = strings.Repeat("X", 3*maxRead) // more than the pipe's capacity
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

// Drains from many goroutines may interrupt reads while a writer keeps writing. No byte and no drain is lost, and the
// order of bytes does not change.
func TestDrainsInterruptReads(t *testing.T) {
	c := start(t, new(collector))
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
	go func() { drainers.Wait(); c.busy.Wait(); close(all) }()
	await(t, all, "a drain")
	var want bytes.Buffer
	for i := range lines {
		fmt.Fprintf(&want, "%d\n", i)
	}
	require.Equal(t, want.String(), c.sink.String())
}

// feeder is a Sink that writes to the pipe on each read. It writes little until the Reader reads in batches, and then
// enough to keep it reading in batches.
type feeder struct {
	reader  *Reader
	w       *os.File
	batches chan struct{} // closed when the Reader reads in batches
	stopped atomic.Bool
	reads   int
	buffer  [maxRead]byte
}

func (f *feeder) Reserve(n int) []byte { return f.buffer[:n] }
func (f *feeder) Close()               {}

func (f *feeder) Commit(n int) {
	if n == 0 || f.stopped.Load() {
		return
	}
	f.reader.mu.Lock()
	inBatches := f.reader.pipe == nil
	f.reader.mu.Unlock()
	size := 64
	if f.reads++; f.reads%littleReads == 0 || inBatches { // also for the first batch, which reads this write
		size = 2 * littleBytes
	}
	if inBatches {
		select {
		case <-f.batches:
		default:
			close(f.batches)
		}
	}
	f.w.Write(make([]byte, size))
}

// A writer that never stops delays neither Drain nor Stop.
func TestDrainsInterruptBatches(t *testing.T) {
	if runtime.GOOS != "linux" {
		return // only Linux reads in batches
	}
	pipe, w := newPipe(t)
	f := &feeder{w: w, batches: make(chan struct{})}
	f.reader = newReader(pipe, f)
	f.w.Write(make([]byte, 64))
	var busy sync.WaitGroup
	busy.Go(f.reader.run)
	await(t, f.batches, "the reader")
	done := make(chan struct{})
	f.reader.Drain(func() { f.stopped.Store(true); close(done) })
	await(t, done, "the drain")
	f.reader.Stop()
	busy.Wait()
	require.NoError(t, w.Close())
}

// At the end of the output, drains are called after the Sink is closed, so that it shows an unfinished character.
func TestDrainAtTheEnd(t *testing.T) {
	for range 100 {
		c := start(t, new(collector))
		c.write(t, "last")
		closed := make(chan bool, 3)
		drained := func() { closed <- c.sink.isClosed() }
		require.NoError(t, c.w.Close())
		c.reader.Drain(drained)
		c.reader.Drain(drained)
		c.busy.Wait()
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

// Stop reads everything written before the call, does not wait for a writer, and closes the pipe.
func TestStop(t *testing.T) {
	for i := range 100 {
		c := start(t, new(collector))
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
		c.busy.Wait()
		require.Equal(t, 1-i%2, drained)
		c.reader.Drain(func() { drained++ })
		require.Equal(t, 2-i%2, drained)
		_, err := c.w.WriteString("more")
		require.Error(t, err)
		c.w.Close()
	}
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
