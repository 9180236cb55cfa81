package acpterm

// That output of hot pipes is all there, whoever asks for it when.

import (
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// flooding writes numbered output, chunk bytes at a time, until it is stopped or has written total.
type flooding struct {
	written atomic.Int64
	stopped atomic.Bool
	over    sync.WaitGroup
}

func flood(w *os.File, chunk int, total int64) *flooding {
	f := &flooding{}
	text := numbered(0, period+chunk)
	f.over.Go(func() {
		for at := int64(0); at < total && !f.stopped.Load(); {
			n, err := w.Write(text[at%period:][:min(int64(chunk), total-at)])
			at += int64(n)
			f.written.Store(at)
			if err != nil {
				return
			}
		}
	})
	return f
}

func (f *flooding) stop() {
	f.stopped.Store(true)
	f.over.Wait()
}

func (r *ringBuffer) isParked() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.parked != nil
}

const endless = int64(1) << 60

// rawPipe is a pipe, which is closed when the test is over.
func rawPipe(t *testing.T) (r, w *os.File, raw rawReader) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() {
		w.Close()
		r.Close()
	})
	raw, err = r.SyscallConn()
	require.NoError(t, err)
	return r, w, raw
}

func pipeSize(t *testing.T, w *os.File) int {
	size, err := unix.FcntlInt(w.Fd(), unix.F_GETPIPE_SZ, 0)
	require.NoError(t, err)
	return size
}

// hotRead has a pipe read in a manner after something was done with its writing end, and returns the ring buffer, that end and what
// will come of it.
func hotRead(t *testing.T, h *hotPipes, s speed, before func(w *os.File)) (*ringBuffer, *os.File, <-chan error) {
	_, w, raw := rawPipe(t)
	ring := newRingBuffer(1 << 20)
	ring.write(numbered(period-(2<<20)%period, 2<<20), maxReserve) // as if the rest came after it
	before(w)
	came := make(chan error, 1)
	var over sync.WaitGroup
	over.Go(func() { came <- h.read(s, raw, ring) })
	t.Cleanup(func() {
		w.Close()
		over.Wait()
	})
	return ring, w, came
}

// requireAll fails unless a ring buffer has what was written.
func requireAll(t *testing.T, ring *ringBuffer, written int64) {
	require.Equal(t, 2<<20+written, ring.total())
	text, _ := ring.last(1 << 20)
	requireNumbered(t, text)
}

// captured has a pipe captured, and returns the capture and the writing end.
func captured(t *testing.T) (*capture, *os.File) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	c := newCapture(r, newRingBuffer(1<<20), new(hotPipes))
	var busy sync.WaitGroup
	c.begin(&busy)
	t.Cleanup(func() {
		w.Close()
		busy.Wait()
		require.Zero(t, c.hot.napping.Load())
		require.Zero(t, c.hot.wide.Load())
	})
	return c, w
}

// requireDrained stops a flood, and fails unless a drain has all of it in the ring buffer.
func requireDrained(t *testing.T, c *capture, f *flooding) {
	f.stop()
	drained := make(chan int64, 1)
	c.drain(func() { drained <- c.ring.total() })
	require.Equal(t, f.written.Load(), <-drained)
	text, _ := c.ring.last(1 << 20)
	requireNumbered(t, text)
}

func TestOutputInLargePiecesIsParked(t *testing.T) {
	c, w := captured(t)
	f := flood(w, 64<<10, endless)
	for range 5 {
		for !c.ring.isParked() {
			runtime.Gosched()
		}
		text, _ := c.ring.last(1 << 20) // has it copied
		require.Len(t, text, 1<<20)
		requireNumbered(t, text)
	}
	requireDrained(t, c, f)
}

// What comes slowly is not kept from where it belongs, and holds no thread.
func TestAPipeCoolsDown(t *testing.T) {
	c, w := captured(t)
	f := flood(w, 64<<10, endless)
	for !c.ring.isParked() {
		runtime.Gosched()
	}
	f.stop()
	for c.hot.napping.Load() > 0 {
		runtime.Gosched()
	}
	require.False(t, c.ring.isParked())
	w.WriteString("more")
	for c.ring.total() < f.written.Load()+4 {
		runtime.Gosched()
	}
}

func TestOutputInSmallPiecesIsCopied(t *testing.T) {
	c, w := captured(t)
	f := flood(w, 64, endless)
	for c.hot.napping.Load() == 0 {
		runtime.Gosched()
	}
	for at := c.ring.total(); c.ring.total() < at+1<<20; {
		require.False(t, c.ring.isParked())
	}
	requireDrained(t, c, f)
}

func TestTheEndOfAHotPipe(t *testing.T) {
	for _, s := range []speed{often, amply} {
		ring, _, came := hotRead(t, new(hotPipes), s, func(w *os.File) {
			w.Write(numbered(0, 60<<10))
			w.Close()
		})
		require.ErrorIs(t, <-came, io.EOF)
		requireAll(t, ring, 60<<10)
	}
}

// Some kilobytes at a time are copied faster than parked; and what comes as fast as it can be copied is not worth naps.
func TestAWrongMannerIsNoticed(t *testing.T) {
	for name, test := range map[string]struct {
		manner manner
		pieces []int
		wrong  bool
	}{
		"large writes":               {parkingMuch, []int{64 << 10, 128 << 10, 512 << 10}, false},
		"large writes of odd sizes":  {parkingMuch, []int{5 * 50_001, 50_001, 3 * 50_001}, false},
		"writes of 8 KiB":            {parkingMuch, []int{64 << 10, 72 << 10, 80 << 10}, true},
		"lines":                      {parkingMuch, []int{100_003, 90_001, 80_000}, true},
		"little":                     {copying, []int{64, 640, 3000}, false},
		"little, but fast":           {copying, []int{80 << 10, 160 << 10}, false},
		"as much as a pipe can hold": {copying, []int{400 << 10, 700 << 10}, true},
	} {
		t.Run(name, func(t *testing.T) {
			var w watch
			wrong := false
			for i := range 1 + 2*watchedPieces*test.manner.doubts {
				n := test.pieces[i%len(test.pieces)]
				wrong = wrong || w.wrong(test.manner, n-min(n/2, 4096), false) || w.wrong(test.manner, min(n/2, 4096), true)
			}
			require.Equal(t, test.wrong, wrong)
		})
	}
	var w watch
	w.wrong(parkingMuch, 1, true) // the first one may have begun before
	for range 1000 {
		for range watchedPieces * (parkingMuch.doubts - 1) {
			require.False(t, w.wrong(parkingMuch, 1000, true), "it was held up")
		}
		for range watchedPieces {
			require.False(t, w.wrong(parkingMuch, 64<<10, true))
		}
	}
}

// One who writes some kilobytes at a time is not taken for one who writes much for long, and then never again.
func TestAWrongMannerIsNotTriedAgain(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	c := newCapture(r, newRingBuffer(1000), new(hotPipes))
	c.ring.write(numbered(0, 2000), 2000)
	f := flood(w, 4<<10, endless)
	for !c.moderate {
		require.NoError(t, c.readHot(amply))
	}
	at := c.ring.total()
	require.NoError(t, c.readHot(amply))
	require.Equal(t, at, c.ring.total(), "nothing was read")
	r.Close()
	f.stop()
	w.Close()
}

// One who goes over from little to much at a time loses nothing.
func TestAHotPipeThatGetsHotter(t *testing.T) {
	q, end := quietPipe(t)
	w := os.NewFile(uintptr(end), "w")
	f := flood(w, 64, endless)
	for !q.isMuch() {
		q.read()
	}
	f.stop()
	little := f.written.Load()
	const much = 64 << 20
	f = flood(w, 64<<10, much)
	f.over.Wait()
	drained := make(chan int64, 1)
	q.drain(func() { drained <- q.ring.total() })
	require.Equal(t, little+much, <-drained)
	w.Close()
	q.stop()
}

// What is parked comes into the ring buffer's place for it. A buffer that still grows may have none.
func TestNothingIsParkedBeforeTheBufferIsFull(t *testing.T) {
	_, w, raw := rawPipe(t)
	ring := newRingBuffer(1 << 20)
	ring.write(numbered(0, 1<<19), maxReserve)
	w.Write(numbered(1<<19, 60<<10))
	require.NoError(t, new(hotPipes).read(amply, raw, ring))
	require.Equal(t, int64(1<<19), ring.total())
}

// A few pipes are read with naps. The others' readers do as ever.
func TestFewNap(t *testing.T) {
	h := new(hotPipes)
	h.napping.Store(fewNapping)
	ring, _, came := hotRead(t, h, often, func(w *os.File) { w.Write(numbered(0, 100)) })
	require.NoError(t, <-came)
	requireAll(t, ring, 0)
	require.Equal(t, int32(fewNapping), h.napping.Load())

	var none *hotPipes
	require.NoError(t, none.read(amply, nil, nil))
	none.widen(nil)()
}

// A pipe that is not hot any more has the size that it had: wide ones are counted.
func TestAHotPipeGetsItsSizeBack(t *testing.T) {
	_, w, came := hotRead(t, new(hotPipes), amply, func(*os.File) {})
	require.ErrorIs(t, <-came, errPause)
	require.Equal(t, 64<<10, pipeSize(t, w))
}

// Whoever is interrupted before the first read leaves the pipe as it was, too.
func TestAnInterruptedHotPipeKeepsItsSize(t *testing.T) {
	r, w, raw := rawPipe(t)
	r.SetReadDeadline(time.Unix(1, 0))
	require.ErrorIs(t, new(hotPipes).read(often, raw, newRingBuffer(1000)), os.ErrDeadlineExceeded)
	require.Equal(t, 64<<10, pipeSize(t, w))
}

// Law 2, for those who write without end: what was written before is there, though the pipe stays open.
func TestHotOutputIsDrained(t *testing.T) {
	for name, test := range map[string]struct {
		chunk int
		total int64
	}{"much at a time": {64 << 10, 8 << 20}, "little at a time": {64, 256 << 10}} {
		t.Run(name, func(t *testing.T) {
			for range 20 {
				q, end := quietPipe(t)
				w := os.NewFile(uintptr(end), "w")
				chunk, total := test.chunk, test.total
				f := flood(w, chunk, total)
				for !q.isMuch() && f.written.Load() < total {
					q.read()
				}
				f.over.Wait()
				drained := make(chan int64, 1)
				q.drain(func() { drained <- q.ring.total() })
				require.Equal(t, total, <-drained)
				q.stop()
				q.busy.Wait()
				require.NoError(t, w.Close())
			}
		})
	}
}

// Whoever stops a hot pipe has all that was written before, and waits for no writer.
func TestAHotPipeIsStopped(t *testing.T) {
	for name, chunk := range map[string]int{"much at a time": 64 << 10, "little at a time": 64} {
		t.Run(name, func(t *testing.T) {
			q, end := quietPipe(t)
			w := os.NewFile(uintptr(end), "w")
			f := flood(w, chunk, endless)
			for !q.isMuch() {
				q.read()
			}
			for q.ring.total() < 2<<20 {
				runtime.Gosched()
			}
			written := f.written.Load()
			q.stop()
			require.GreaterOrEqual(t, q.ring.total(), written)
			require.True(t, q.over())
			f.stop()
			q.busy.Wait()
			text, _ := q.ring.last(1 << 20)
			requireNumbered(t, text)
			w.Close()
		})
	}
}

// What lies in pipes counts as memory of who has written it. Who may have little of that is not parked.
func TestOutputOfALimitedCommandIsCopied(t *testing.T) {
	m := NewManager(nil)
	defer m.Close()
	for memory, hot := range map[uint64]*hotPipes{0: &m.hot, 1 << 30: nil} {
		term, err := m.Create(t.Context(), CreateTerminalRequest{SessionID: "s", Command: "true"}, WithLimits(Limits{Memory: memory}))
		require.NoError(t, err)
		require.Same(t, hot, term.source.(*quiet).hot)
	}
}
