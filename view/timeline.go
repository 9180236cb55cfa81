package view

// When the output of commands was written. The library does not record it, so a View looks at the length of the output
// of each running command several times a second, and keeps a bounded list of lengths and times.

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/acpterm/acpterm"
)

const (
	// lookInterval is the time between looks at a command's output.
	lookInterval = 250 * time.Millisecond
	// maxSamples is the maximum number of samples of a command.
	maxSamples = 4096
	// sampleBytes is the size of a sample in memory.
	sampleBytes = 16
)

// sample says that the output ended at an offset at a time, in milliseconds since 1970.
type sample struct{ offset, at int64 }

// timeline holds the samples of a command without a PTY, which the View has watched. A nil timeline has none. All
// methods are safe for concurrent use; none blocks.
type timeline struct {
	terminal *acpterm.Terminal

	mu       sync.Mutex
	samples  []sample // both fields increase, or stay
	looked   int64    // time of the last look
	interval int64    // minimum milliseconds between looks
	removed  bool     // from the table
}

func newTimeline(t *acpterm.Terminal) *timeline {
	l := &timeline{terminal: t, interval: lookInterval.Milliseconds()}
	l.look()
	return l
}

// look adds a sample if the output has grown. It reports whether the output can grow further while the command runs.
func (l *timeline) look() (more bool) {
	more = !isOver(l.terminal) // before the look, which is the last one then
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lookLocked(!more)
	if !more {
		l.samples = slices.Clone(l.samples) // without room for more
	}
	return more && !l.removed
}

func (l *timeline) lookLocked(now bool) {
	const early = int64(lookInterval / 2 / time.Millisecond) // a tick may be
	if !now && time.Now().UnixMilli()-l.looked < l.interval-early {
		return
	}
	l.looked, l.samples = l.withNowLocked()
	if len(l.samples) > maxSamples {
		l.thinLocked()
	}
}

// withNowLocked returns the time, and the samples with another one if the output has grown.
func (l *timeline) withNowLocked() (now int64, samples []sample) {
	total := l.terminal.OutputTotal()           // before the time, so that it was written by then
	now = max(time.Now().UnixMilli(), l.looked) // the clock may have been set back
	var last sample
	if n := len(l.samples); n > 0 {
		last = l.samples[n-1]
	}
	if total == last.offset {
		return now, l.samples
	}
	samples = l.samples
	if l.looked > last.at { // then the output was silent up to that look
		samples = append(samples, sample{last.offset, l.looked})
	}
	return now, append(samples, sample{total, now})
}

// thinLocked removes the samples of dropped output. If too many remain, it keeps only the last sample of each longer
// interval, and looks less often.
func (l *timeline) thinLocked() {
	info := l.terminal.Info()
	start := info.Written - info.Kept
	retained, _ := slices.BinarySearchFunc(l.samples, start, func(s sample, offset int64) int {
		if s.offset <= offset {
			return -1
		}
		return 1
	})
	l.samples = slices.Delete(l.samples, 0, max(0, retained-1)) // the one before says when the retained output began
	for len(l.samples) > maxSamples*3/4 {
		l.interval *= 2
		kept := l.samples[:0]
		for i, s := range l.samples {
			if i+1 == len(l.samples) || s.at/l.interval != l.samples[i+1].at/l.interval {
				kept = append(kept, s)
			}
		}
		l.samples = kept
	}
}

// list returns the samples. The last one is not older than the call if the output has grown.
func (l *timeline) list() []sample {
	if l == nil {
		return nil
	}
	over := isOver(l.terminal)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lookLocked(over) // no look follows the end, but processes that hold the output may write more
	_, list := l.withNowLocked()
	return slices.Clone(list)
}

// bytes returns the size of the samples in memory.
func (l *timeline) bytes() int64 {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return int64(cap(l.samples)) * sampleBytes
}

// remove ends the looks at the output.
func (l *timeline) remove() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.removed = true
}

// isOver reports whether a command has ended.
func isOver(t *acpterm.Terminal) bool {
	select {
	case <-t.Done():
		return true
	default:
		return false
	}
}

// watch looks at the output of all running commands. Its goroutine exists only while a command runs, and ends with ctx.
// The methods are safe for concurrent use.
type watch struct {
	ctx     context.Context
	looking sync.WaitGroup

	mu      sync.Mutex
	running []*timeline
}

// add adds a command, until it ends.
func (w *watch) add(l *timeline) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running = append(w.running, l)
	if len(w.running) == 1 {
		w.looking.Go(w.look)
	}
}

func (w *watch) look() {
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	for more := true; more; more = w.lookAtAll() {
		select {
		case <-tick.C:
		case <-w.ctx.Done():
			return
		}
	}
}

// lookAtAll looks at each command, and reports whether one is still running.
func (w *watch) lookAtAll() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running = slices.DeleteFunc(w.running, func(l *timeline) bool { return !l.look() })
	return len(w.running) > 0
}
