package server

// How much output may be on its way to the Runner, so that answers and the output of other processes do not queue
// behind it.

import (
	"fmt"
	"sync"
	"time"

	"github.com/acpterm/acpterm/remote/internal/frame"
)

// Output is in flight from its write until the Runner reports that it has read it. In between it waits in pipes and
// sockets, which can hold megabytes. The window limits the bytes in flight, and follows the link: it grows whenever
// output has filled it, and shrinks when output waits for longer than maxQueued. If output still waits with the smallest
// window, the delay of the link has changed, and the window grows again. Frames are as long as the link takes for
// maxFrame, so that reports arrive all the time.
const (
	minWindow   = 16 << 10
	firstWindow = 128 << 10
	maxWindow   = 2 << 20
	maxQueued   = 100 * time.Millisecond

	minFrame = 2 << 10
	maxFrame = maxQueued / 8
)

// window is the limit, and the bytes counted against it: those of output frames, with their headers. Its methods may be
// called concurrently.
type window struct {
	mu    sync.Mutex
	size  int64 // firstWindow at first
	frame int64 // maximum number of output bytes for the next frame
	sent  int64
	read  int64         // of sent
	full  bool          // has been since the last measurement
	least time.Duration // the shortest measured time, or a later one with minWindow: nothing queued

	// The measured frame ends at this byte of sent. If it is 0, the next frame will be measured.
	end      int64
	inFlight int64 // when it was sent, including itself
	at       time.Time
}

func newWindow() window { return window{size: firstWindow, frame: firstWindow / 8} }

// open reports whether output may be sent.
func (w *window) open() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent-w.read < w.size
}

// most returns the maximum number of output bytes for the next frame.
func (w *window) most() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return int(w.frame)
}

// add counts a frame before its write.
func (w *window) add(bytes int, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent += int64(bytes)
	inFlight := w.sent - w.read
	w.full = w.full || inFlight >= w.size
	if w.end == 0 {
		w.end, w.inFlight, w.at = w.sent, inFlight, now
	}
}

// remove takes the Runner's report: the number of bytes that it has read since the start.
func (w *window) remove(read uint64, now time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if read > uint64(w.sent) || int64(read) < w.read {
		return fmt.Errorf("malformed request: %d bytes read, of %d and after %d", read, w.sent, w.read)
	}
	w.read = int64(read)
	if w.end != 0 && w.read >= w.end {
		w.adjustLocked(max(now.Sub(w.at), 1))
		w.end, w.full = 0, false
	}
	return nil
}

// adjustLocked changes the size after a measurement.
func (w *window) adjustLocked(took time.Duration) {
	// The smallest window queues little, so the link takes that long now.
	if w.least == 0 || took < w.least || w.size == minWindow {
		w.least = took
	}
	rate := float64(w.inFlight) / took.Seconds()
	switch allowed := w.least + maxQueued; {
	case took > allowed:
		w.size = max(int64(rate*allowed.Seconds()), minWindow)
	case w.full:
		w.size = min(w.size*5/4, maxWindow)
	}
	w.frame = max(minFrame, int64(min(rate*maxFrame.Seconds(), float64(w.size/2), frame.MaxOutput)))
}
