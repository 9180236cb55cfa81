// Package output keeps the last bytes of a command's output, at absolute offsets, and the first ones if asked to: one
// writer fills a Buffer in place, and any number of readers take copies of either end as valid UTF-8 in whole
// characters. It imports the standard library. Its caller says when the command's own output is
// complete (CommandEnded) and when no process can write any more (Close).
package output

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

const (
	// contextBytes are kept beyond what a reader may be shown, at each end: the bytes before the first
	// shown one tell whether it begins a character, and an unfinished character at the live end is not
	// shown at all. A character has four bytes, so three of it can be on the wrong side.
	contextBytes = 3

	// MaxReserve is how many bytes the writer asks for at the most.
	MaxReserve = 64 << 10
)

// Buffer keeps the last keep bytes that were written and the first keepHead, and counts all of them. It grows by
// doubling, from nothing, as output comes; a command without output costs no buffer.
//
// The writer's part (Reserve, Commit, Close: it is a capture.Sink) is for one goroutine; everything else may be called
// concurrently with it. The writer fills what Reserve returned without holding the lock: those bytes lie
// outside of what readers can see until Commit.
type Buffer struct {
	keep     int64 // bytes that stay readable; never changes
	keepHead int64 // the first bytes that stay readable; never changes

	mu       sync.Mutex
	buf      []byte        // byte at offset o is buf[o % len(buf)]
	head     []byte        // the first bytes since the last Restart
	end      int64         // offset after the last byte written: the total
	base     int64         // offset that the output begins at, since the last Restart; 0 without one
	finished int64         // end when the command ended; until more is written, an unfinished character there is shown
	closed   bool          // nothing will be written any more
	wake     chan struct{} // closed at the next commit or close; nil while no reader waits
}

// New returns a buffer that can show the last limit bytes and the first head bytes, in whole characters.
func New(limit, head int64) *Buffer {
	r := &Buffer{keep: limit + 2*contextBytes, finished: -1}
	if head > 0 {
		r.keepHead = head + contextBytes
	}
	return r
}

// Room is how many bytes the buffer can show.
func (r *Buffer) Room() int64 { return r.keep - 2*contextBytes + r.headRoom() }

// Kept is how many bytes of the room are used.
func (r *Buffer) Kept() int64 {
	written := r.Written()
	return min(written, r.keep-2*contextBytes) + min(written, r.headRoom())
}

// headRoom is how many bytes Head returns at the most.
func (r *Buffer) headRoom() int64 { return max(0, r.keepHead-contextBytes) }

// Reserve returns room for up to size bytes, at least one. It is where the next bytes go, in place;
// Commit then says how many there were.
func (r *Buffer) Reserve(size int) []byte {
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
func (r *Buffer) growLocked(need int64) {
	size := max(need, min(2*int64(len(r.buf)), r.keep+MaxReserve))
	grown := make([]byte, size)
	for at := r.end - r.keptLocked(); at < r.end; {
		piece := r.spanLocked(at, r.end)
		at += int64(copy(grown[at%size:], piece))
	}
	r.buf = grown
}

// Commit makes n bytes of what Reserve returned part of the output.
func (r *Buffer) Commit(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	until := r.end + int64(n)
	if room := r.keepHead - int64(len(r.head)); room > 0 {
		r.head = r.appendLocked(r.head, r.end, min(until, r.end+room))
	}
	r.end = until
	if n > 0 {
		r.wakeLocked()
	}
}

// Close indicates that nothing more is written. An unfinished character at the end is shown then, as U+FFFD.
func (r *Buffer) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.wakeLocked()
}

// CommandEnded is called when all that the command wrote is in the buffer: a character that it left unfinished is
// shown, as U+FFFD, unless another process of its tree finishes it.
func (r *Buffer) CommandEnded() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.finished = r.end
	r.wakeLocked()
}

// Restart makes the output begin anew, empty. It counts as one byte, so that a reader which goes on from an offset
// finds out even if nothing was written before it or comes after it. It is part of the writer.
func (r *Buffer) Restart() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end++
	r.base, r.head = r.end, nil
	r.wakeLocked()
}

// Extends reports whether text begins with all that was written since the last Restart, as far as it is kept, and
// returns the rest of text then, or all of it.
func (r *Buffer) Extends(text []byte) (rest []byte, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	written := r.end - r.base
	if int64(len(text)) < written {
		return text, false
	}
	kept := r.keptLocked()
	if r.textLocked(r.end-kept, r.end) != string(text[written-kept:written]) {
		return text, false
	}
	return text[written:], true
}

// finalLocked reports whether an unfinished character at the end is shown, as U+FFFD, and not withheld.
func (r *Buffer) finalLocked() bool { return r.closed || r.end == r.finished }

func (r *Buffer) wakeLocked() {
	if r.wake != nil {
		close(r.wake)
		r.wake = nil
	}
}

// keptLocked is how many bytes are readable.
func (r *Buffer) keptLocked() int64 { return min(r.end-r.base, r.keep) }

// spanLocked returns the bytes from an offset on that lie in one piece, up to the offset to.
func (r *Buffer) spanLocked(from, to int64) []byte {
	at := from % int64(len(r.buf))
	return r.buf[at:min(at+to-from, int64(len(r.buf)))]
}

// textLocked returns a copy of the bytes between two readable offsets.
func (r *Buffer) textLocked(from, to int64) string {
	var b strings.Builder
	b.Grow(int(to - from))
	for from < to {
		n, _ := b.Write(r.spanLocked(from, to))
		from += int64(n)
	}
	return b.String()
}

// appendLocked appends the bytes between two readable offsets.
func (r *Buffer) appendLocked(to []byte, from, until int64) []byte {
	to = slices.Grow(to, int(until-from))
	for from < until {
		piece := r.spanLocked(from, until)
		to = append(to, piece...)
		from += int64(len(piece))
	}
	return to
}

// Head returns the longest text in whole characters, of at most limit bytes, that the output begins with since the last
// Restart, and how many bytes of the output that is. limit is at most the one that the buffer was made for.
func (r *Buffer) Head(limit int64) (text string, end int64) {
	r.mu.Lock()
	raw := string(r.head[:min(int64(len(r.head)), limit+contextBytes)])
	all, final := int64(len(raw)) == r.end-r.base, r.finalLocked()
	r.mu.Unlock()

	if all && !final {
		raw = raw[:len(raw)-unfinished(raw)]
	}
	text, size := firstText(raw, int(limit))
	return text, int64(size)
}

// Last returns the longest text in whole characters, of at most limit bytes, that the output so far ends with, and how
// many bytes of the output, since the last Restart, come before it. limit is at most the one that the buffer was made
// for.
func (r *Buffer) Last(limit int64) (text string, start int64) {
	r.mu.Lock()
	base := r.base
	from := r.end - min(r.end-base, limit+2*contextBytes)
	raw := r.textLocked(from, r.end)
	final := r.finalLocked()
	r.mu.Unlock()

	if !final {
		raw = raw[:len(raw)-unfinished(raw)]
	}
	text, cut := lastText(raw, int(limit))
	return text, from + int64(cut) - base
}

// Window is a part of the output, as it was written.
type Window struct {
	Start, End int64  // offsets; Start begins a character
	Head       []byte // the bytes from Start on, at least as many as were asked for, or all
	News       []byte // the bytes from the later of Start and the offset known, to End
	Raw        []byte // holds Head and News
}

// Window returns the bytes that Last shows of the output so far, as they were written: the first size of them, and
// those from the offset known on. It appends to raw, which is empty.
func (r *Buffer) Window(raw []byte, limit, known int64, size int) Window {
	r.mu.Lock()
	first := r.end - min(r.end-r.base, limit+2*contextBytes)
	from := max(first, known)
	raw = r.appendLocked(raw, first, min(first+int64(size)+4*contextBytes, r.end))
	head := len(raw)
	raw = r.appendLocked(raw, from, r.end)
	final := r.finalLocked()
	r.mu.Unlock()

	w := Window{Head: raw[:head], News: raw[head:], Raw: raw}
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

// Excerpt is what a follower reads from an offset on.
type Excerpt struct {
	Text       string
	Raw        string // the same as it was written
	Begin, End int64  // the offsets of both; Begin is later than asked for if bytes were dropped
	Base       int64  // the offset that the output begins at; later than asked for if it began anew
	Over       bool   // there is no text, and there never will be
	total      int64  // how much output there was then
	final      bool   // its last bytes were shown as they are
}

// Read returns up to size bytes of output from an offset on, in whole characters. size is at least 8.
func (r *Buffer) Read(from int64, size int) Excerpt {
	r.mu.Lock()
	oldest := r.end - r.keptLocked()
	e := Excerpt{Begin: max(from, r.base), Base: r.base, total: r.end, final: r.finalLocked()}
	e.End = e.Begin
	if oldest > r.base {
		e.Begin = max(from, oldest+contextBytes)
	}
	context := int(min(e.Begin-oldest, contextBytes))
	stop := min(e.Begin+int64(size), r.end)
	var raw string
	if e.Begin < stop {
		raw = r.textLocked(e.Begin-int64(context), stop)
	}
	final, over := e.final && stop == r.end, r.closed && stop == r.end
	r.mu.Unlock()

	if raw == "" {
		e.Over = over
		return e
	}
	start := context
	for start < len(raw) && !startsCharacter(raw, start) {
		start++
	}
	raw, e.Begin = raw[start:], e.Begin+int64(start-context)
	if !final {
		raw = raw[:len(raw)-unfinished(raw)]
	}
	e.End = e.Begin + int64(len(raw))
	e.Text, e.Raw = validText(raw), raw
	e.Over = raw == "" && over
	return e
}

// Changed returns a channel that is closed once a Read would return more than e did: more output, an unfinished
// character that is shown now, or the end; nil if that is so already.
func (r *Buffer) Changed(e Excerpt) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.end > e.total || r.finalLocked() != e.final {
		return nil
	}
	if r.wake == nil {
		r.wake = make(chan struct{})
	}
	return r.wake
}

// Written is how many bytes were written since the last Restart.
func (r *Buffer) Written() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.end - r.base
}

// Total is the offset of the output's end: how many bytes were written so far, and one for each Restart.
func (r *Buffer) Total() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.end
}
