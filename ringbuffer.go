package acpterm

// The last bytes of a command's output, at absolute offsets: one writer that fills the buffer in
// place, any number of readers that take copies of its end. It knows bytes and characters, nothing of
// processes. text.go's functions turn what is copied out into valid text.

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/acpterm/acpterm/internal/wire"
)

const (
	// contextBytes are kept beyond what a reader may be shown, at each end: the bytes before the first
	// shown one tell whether it begins a character, and an unfinished character at the live end is not
	// shown at all. A character has four bytes, so three of it can be on the wrong side.
	contextBytes = 3

	maxReserve = 64 << 10 // bytes that the writer asks for at most
)

// ringBuffer keeps the last keep bytes that were written, and the total that ever was. It grows by
// doubling, from nothing, as output comes; a command without output costs no buffer.
//
// The writer's part (Reserve, Commit, Close: it is a capture.Sink) is for one goroutine; everything else may be called
// concurrently with it. The writer fills what Reserve returned without holding the lock: those bytes lie
// outside of what readers can see until Commit.
type ringBuffer struct {
	keep int64 // bytes that stay readable; never changes

	mu        sync.Mutex
	buf       []byte        // byte at offset o is buf[o % len(buf)]
	end       int64         // offset after the last byte written: the total
	finished  int64         // end when the command ended; until more is written, an unfinished character there is shown
	closed    bool          // nothing will be written any more
	followers int           // readers that read one excerpt after the other
	recent    []recentRead  // what they read last, if there are several
	wake      chan struct{} // closed at the next commit or close; nil while no reader waits
}

// newRingBuffer returns a buffer that can show the last limit bytes in whole characters.
func newRingBuffer(limit int64) *ringBuffer {
	return &ringBuffer{keep: limit + 2*contextBytes, finished: -1}
}

// room is how many bytes the buffer can show.
func (r *ringBuffer) room() int64 { return r.keep - 2*contextBytes }

// Reserve returns room for up to size bytes, at least one. It is where the next bytes go, in place;
// Commit then says how many there were.
func (r *ringBuffer) Reserve(size int) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := r.keptLocked()
	if room := int64(len(r.buf)) - kept; room < int64(size) {
		r.growLocked(kept + int64(size))
	}
	room := int64(len(r.buf)) - kept
	from := r.end % int64(len(r.buf))
	return r.buf[from:min(from+room, from+int64(size), int64(len(r.buf)))]
}

// growLocked makes the buffer hold need bytes at least, and twice what it held unless that is more than
// it can ever use.
func (r *ringBuffer) growLocked(need int64) {
	size := max(need, min(2*int64(len(r.buf)), r.keep+maxReserve))
	grown := make([]byte, size)
	kept := r.keptLocked()
	for from := r.end - kept; from < r.end; {
		piece := r.spanLocked(from, r.end)
		from += int64(copySpan(grown, from, piece))
	}
	r.buf = grown
}

// copySpan copies piece to its place at offset from in a ring, up to the ring's edge.
func copySpan(ring []byte, from int64, piece []byte) int {
	return copy(ring[from%int64(len(ring)):], piece)
}

// Commit makes n bytes of what Reserve returned part of the output.
func (r *ringBuffer) Commit(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end += int64(n)
	if n > 0 {
		r.wakeLocked()
	}
}

// Close ends the output, so that an unfinished character stays one.
func (r *ringBuffer) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.wakeLocked()
}

// commandEnded is called when all that the command wrote is in the buffer: a character that it left unfinished is
// shown, as U+FFFD, unless another process of its tree finishes it.
func (r *ringBuffer) commandEnded() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.finished = r.end
	r.wakeLocked()
}

// finalLocked reports whether the output's last bytes are shown as they are: no process is about to finish a character.
func (r *ringBuffer) finalLocked() bool { return r.closed || r.end == r.finished }

func (r *ringBuffer) wakeLocked() {
	if r.wake != nil {
		close(r.wake)
		r.wake = nil
	}
}

// keptLocked is how many bytes are readable.
func (r *ringBuffer) keptLocked() int64 { return min(r.end, r.keep) }

// spanLocked returns the bytes from an offset on that lie in one piece, up to the offset to.
func (r *ringBuffer) spanLocked(from, to int64) []byte {
	at := from % int64(len(r.buf))
	return r.buf[at:min(at+to-from, int64(len(r.buf)))]
}

// rawLocked returns a copy of the bytes between two readable offsets.
func (r *ringBuffer) rawLocked(from, to int64) string {
	var b strings.Builder
	b.Grow(int(to - from))
	for from < to {
		piece := r.spanLocked(from, to)
		b.Write(piece)
		from += int64(len(piece))
	}
	return b.String()
}

// appendLocked appends the bytes between two readable offsets.
func (r *ringBuffer) appendLocked(to []byte, from, until int64) []byte {
	to = slices.Grow(to, int(until-from))
	for from < until {
		piece := r.spanLocked(from, until)
		to = append(to, piece...)
		from += int64(len(piece))
	}
	return to
}

// last returns the longest text in whole characters, of at most limit bytes, that the output so far ends
// with, and whether that is less than all of it. limit is at most the one that the buffer was made for.
func (r *ringBuffer) last(limit int64) (text string, truncated bool) {
	r.mu.Lock()
	from := r.end - min(r.end, limit+2*contextBytes)
	raw := r.rawLocked(from, r.end)
	final := r.finalLocked()
	r.mu.Unlock()

	if !final {
		raw = raw[:len(raw)-unfinished(raw)]
	}
	text, cut := lastText(raw, int(limit))
	return text, from+int64(cut) > 0
}

// window returns the bytes that last shows of the output so far, as they were written: the first size of them, and
// those from the offset known on. It appends to raw, which is empty.
func (r *ringBuffer) window(raw []byte, limit, known int64, size int) wire.Window {
	r.mu.Lock()
	first := r.end - min(r.end, limit+2*contextBytes)
	from := max(first, known)
	raw = r.appendLocked(raw, first, min(first+int64(size)+4*contextBytes, r.end))
	head := len(raw)
	raw = r.appendLocked(raw, from, r.end)
	final := r.finalLocked()
	r.mu.Unlock()

	w := wire.Window{Head: raw[:head], News: raw[head:], Raw: raw}
	if !final {
		w.News = w.News[:len(w.News)-unfinished(string(w.News[max(0, len(w.News)-utf8.UTFMax):]))]
	}
	w.End = from + int64(len(w.News))
	w.Start = max(first, w.End-limit)
	context := string(w.Head[:min(len(w.Head), 4*contextBytes)])
	for w.Start < w.End && !startsCharacter(context, int(w.Start-first)) {
		w.Start++
	}
	w.Head = w.Head[w.Start-first:]
	w.News = w.News[max(0, w.Start-from):]
	return w
}

// excerpt is what a follower reads from an offset on.
type excerpt struct {
	text       string
	begin, end int64 // the offsets of text; begin is later than asked for if bytes were dropped
	total      int64 // how much output there was then
	final      bool  // its last bytes were shown as they are
	over       bool  // there is no text, and there never will be
}

// recentRead is an excerpt with what was asked for. Followers that keep up all read from the same offset, so several of
// them cost one copy. There may be more output by now, which is for their next read.
type recentRead struct {
	from int64
	size int
	excerpt
}

// follow counts a follower, until stop is called.
func (r *ringBuffer) follow() (stop func()) {
	count := func(n int) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.followers += n; r.followers < 2 {
			r.recent = nil
		}
	}
	count(1)
	return func() { count(-1) }
}

// maxRecent is how many recent reads are kept: one for the followers that keep up, and a few for slower ones.
const maxRecent = 4

// read returns up to size bytes of output from an offset on, in whole characters. size is at least 8.
func (r *ringBuffer) read(from int64, size int) excerpt {
	r.mu.Lock()
	for _, s := range r.recent {
		if s.from == from && s.size == size {
			r.mu.Unlock()
			return s.excerpt
		}
	}
	r.mu.Unlock()
	g := r.readAlone(from, size)
	if g.text != "" {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.followers > 1 {
			if len(r.recent) == maxRecent {
				r.recent = r.recent[:copy(r.recent, r.recent[1:])]
			}
			r.recent = append(r.recent, recentRead{from, size, g})
		}
	}
	return g
}

// readAlone is read for one follower.
func (r *ringBuffer) readAlone(from int64, size int) excerpt {
	r.mu.Lock()
	oldest := r.end - r.keptLocked()
	g := excerpt{begin: from, end: from, total: r.end, final: r.finalLocked()}
	if oldest > 0 {
		g.begin = max(from, oldest+contextBytes)
	}
	context := int(min(g.begin-oldest, contextBytes))
	stop := min(g.begin+int64(size), r.end)
	var raw string
	if g.begin < stop {
		raw = r.rawLocked(g.begin-int64(context), stop)
	}
	final, over := g.final && stop == r.end, r.closed && stop == r.end
	r.mu.Unlock()

	if raw == "" {
		g.over = over
		return g
	}
	start := context
	for start < len(raw) && !startsCharacter(raw, start) {
		start++
	}
	raw, g.begin = raw[start:], g.begin+int64(start-context)
	if !final {
		raw = raw[:len(raw)-unfinished(raw)]
	}
	g.end = g.begin + int64(len(raw))
	g.text = validText(raw)
	g.over = raw == "" && over
	return g
}

// changed returns a channel that is closed once a read would return more than g did: more output, an unfinished
// character that is shown now, or the end; nil if that is so already.
func (r *ringBuffer) changed(g excerpt) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.end > g.total || r.finalLocked() != g.final {
		return nil
	}
	if r.wake == nil {
		r.wake = make(chan struct{})
	}
	return r.wake
}

// total is how many bytes were written so far.
func (r *ringBuffer) total() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.end
}
