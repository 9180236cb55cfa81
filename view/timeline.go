package view

// When the output of commands was written. The library does not record it, so a View looks at the length of the output
// of each running command several times a second, and keeps a bounded list of lengths and times.

import (
	"slices"
	"sort"
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

// firstAt returns the index of the first sample with an offset or a later one.
func firstAt(samples []sample, offset int64) int {
	return sort.Search(len(samples), func(i int) bool { return samples[i].offset >= offset })
}

// timeline holds the samples of a command without a PTY, which the View has watched. The zero value has no terminal, and
// never gets a sample. The table's mutex guards it.
type timeline struct {
	terminal *acpterm.Terminal
	samples  []sample // both fields increase, or stay
	looked   int64    // time of the last look
	due      int64    // time of the next look
	interval int64    // minimum milliseconds between looks
}

func newTimeline(t *acpterm.Terminal) timeline {
	l := timeline{terminal: t, interval: lookInterval.Milliseconds()}
	l.look(true)
	return l
}

// look adds a sample if the output has grown. It looks now if so told or if the command has ended, and otherwise when a
// look is due. It reports whether the command runs.
func (l *timeline) look(now bool) (running bool) {
	const early = int64(lookInterval / 2 / time.Millisecond) // a tick may be
	if l.terminal == nil {
		return false
	}
	select {
	case <-l.terminal.Done(): // before the look, which is the last one then
	default:
		running = true
	}
	total := l.terminal.OutputTotal()           // before the time, so that it was written by then
	at := max(time.Now().UnixMilli(), l.looked) // the clock may have been set back
	if running && !now {
		if at < l.due {
			return true
		}
		l.due = at + l.interval - early
	}
	var last sample
	if n := len(l.samples); n > 0 {
		last = l.samples[n-1]
	}
	if total != last.offset {
		if l.looked > last.at { // then the output was silent up to that look
			l.samples = append(l.samples, sample{last.offset, l.looked})
		}
		l.samples = append(l.samples, sample{total, at})
	}
	l.looked = at
	if len(l.samples) > maxSamples {
		l.thin()
	}
	if !running {
		l.samples = slices.Clone(l.samples) // without room for more
	}
	return running
}

// thin removes the samples of dropped output. If too many remain, it keeps only the last sample of each longer interval,
// and makes looks rarer.
func (l *timeline) thin() {
	info := l.terminal.Info()
	retained := firstAt(l.samples, info.Written-info.Kept+1)
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

// samplesOf returns the samples of a command, up to this moment.
func (t *table) samplesOf(e *entry) []sample {
	t.mu.Lock()
	defer t.mu.Unlock()
	e.timeline.look(true)
	return slices.Clone(e.timeline.samples)
}

// watchLocked starts to watch the output of running commands, unless it is watched already.
func (t *table) watchLocked() {
	if !t.watching && t.ctx.Err() == nil {
		t.watching = true
		t.looking.Go(t.watch)
	}
}

// watch looks at the output of all running commands, while there are any, until the View is closed.
func (t *table) watch() {
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	for t.lookAtAll() {
		select {
		case <-tick.C:
		case <-t.ctx.Done():
			return
		}
	}
}

// lookAtAll looks at each command, and reports whether one is still running.
func (t *table) lookAtAll() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.watching = false
	for _, e := range t.order {
		if e.timeline.look(false) {
			t.watching = true
		}
	}
	return t.watching
}
