// Package output keeps the last bytes of a command's output, at absolute offsets, and optionally the first bytes. One
// writer fills a Buffer in place. Any number of readers copy either end, as valid UTF-8 in whole characters. The
// package imports only the standard library. The caller reports when the command's own output is complete
// (CommandEnded) and when no process can write any more (Close).
package output

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
	"weak"
)

const (
	// contextBytes is the number of extra bytes kept at each end of the visible output. The bytes before the first
	// visible byte tell whether it begins a character. An unfinished character at the live end is not visible. A
	// character has up to four bytes, so up to three of them can lie outside.
	contextBytes = 3

	// MaxReserve is the largest size that the writer passes to Reserve.
	MaxReserve = 64 << 10
)

// A Buffer keeps the last keep and the first keepHead bytes of the output, and counts all bytes. It starts empty and
// grows by doubling as output arrives, so a command without output needs no memory for it.
//
// A Buffer is a capture.Sink. Only the writer's goroutine may call Reserve, Commit and Close; all other methods may be
// called concurrently with them. The writer fills the room that Reserve returned without holding the lock, because
// readers cannot see those bytes until Commit.
type Buffer struct {
	keep     int64 // number of last bytes that stay readable; never changes
	keepHead int64 // number of first bytes that stay readable; never changes

	mu       sync.Mutex
	buf      []byte                    // ring buffer: the byte at offset o is buf[o % len(buf)]
	head     []byte                    // the first bytes since the last Restart
	end      int64                     // offset after the last byte written, see Total
	base     int64                     // offset of the output's first byte since the last Restart, or 0
	finished int64                     // end at CommandEnded, or -1; while equal, an unfinished character is shown
	closed   bool                      // the output is complete
	wake     chan struct{}             // closed at the next change; nil if no reader waits
	recent   [16]weak.Pointer[Excerpt] // results of Read, while a reader holds them
}

// New returns a Buffer that can show the last limit and the first head bytes of the output, in whole characters.
func New(limit, head int64) *Buffer {
	r := &Buffer{keep: limit + 2*contextBytes, finished: -1}
	if head > 0 {
		r.keepHead = head + contextBytes
	}
	return r
}

// Room returns the number of bytes that the buffer can show.
func (r *Buffer) Room() int64 { return r.keep - 2*contextBytes + r.headRoom() }

// Kept returns how many bytes of Room are in use.
func (r *Buffer) Kept() int64 {
	written := r.Written()
	return min(written, r.keep-2*contextBytes) + min(written, r.headRoom())
}

func (r *Buffer) headRoom() int64 { return max(0, r.keepHead-contextBytes) }

// Reserve returns room for 1 to size bytes. The writer puts the next bytes there, and calls Commit with their number.
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

// growLocked grows the buffer to at least need bytes. It doubles it, but not beyond the size that it can ever use.
func (r *Buffer) growLocked(need int64) {
	size := max(need, min(2*int64(len(r.buf)), r.keep+MaxReserve))
	grown := make([]byte, size)
	for at := r.end - r.keptLocked(); at < r.end; {
		piece := r.spanLocked(at, r.end)
		at += int64(copy(grown[at%size:], piece))
	}
	r.buf = grown
}

// Commit adds the first n bytes of the room that Reserve returned to the output.
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

// Close marks the output as complete. From then on, an unfinished character at the end is shown as U+FFFD.
func (r *Buffer) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.wakeLocked()
}

// CommandEnded reports that all of the command's own output is in the buffer. From then on, an unfinished character at
// its end is shown as U+FFFD, unless another process of the command's tree finishes it.
func (r *Buffer) CommandEnded() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.finished = r.end
	r.wakeLocked()
}

// Restart discards the output and starts again with an empty one. It advances the offset by one byte, so that a reader
// that continues from an earlier offset notices, even without any output before or after the call. Only the writer may
// call it.
func (r *Buffer) Restart() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end++
	r.base, r.head = r.end, nil
	r.wakeLocked()
}

// Extends reports whether text begins with the output since the last Restart. It compares only the bytes that the
// buffer still keeps. If so, it returns the rest of text, and otherwise all of text.
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

// finalLocked reports whether an unfinished character at the end is shown as U+FFFD instead of withheld.
func (r *Buffer) finalLocked() bool { return r.closed || r.end == r.finished }

func (r *Buffer) wakeLocked() {
	if r.wake != nil {
		close(r.wake)
		r.wake = nil
	}
}

func (r *Buffer) keptLocked() int64 { return min(r.end-r.base, r.keep) }

// spanLocked returns the contiguous bytes that start at the offset from and end at the offset to or before it.
func (r *Buffer) spanLocked(from, to int64) []byte {
	at := from % int64(len(r.buf))
	return r.buf[at:min(at+to-from, int64(len(r.buf)))]
}

func (r *Buffer) textLocked(from, to int64) string {
	var b strings.Builder
	b.Grow(int(to - from))
	for from < to {
		n, _ := b.Write(r.spanLocked(from, to))
		from += int64(n)
	}
	return b.String()
}

func (r *Buffer) appendLocked(to []byte, from, until int64) []byte {
	to = slices.Grow(to, int(until-from))
	for from < until {
		piece := r.spanLocked(from, until)
		to = append(to, piece...)
		from += int64(len(piece))
	}
	return to
}

// Head returns the first characters of the output since the last Restart, as many as fit into limit bytes, and the
// number of bytes of the output that they represent. limit must not exceed the head that New was called with.
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

// Last returns the last characters of the output so far, as many as fit into limit bytes, and the number of bytes of
// the output since the last Restart that come before them. limit must not exceed the limit that New was called with.
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

// A Window is a part of the raw output.
type Window struct {
	Start, End int64  // offsets; a character begins at Start
	Head       []byte // the bytes from Start on, at least the requested number, or all
	News       []byte // the bytes from Start or the offset known, whichever is later, to End
	Raw        []byte // holds Head and News
}

// Window returns the raw bytes of the text that Last would return: the first size bytes, and the bytes from the offset
// known on. It appends to raw, which must be empty.
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

// An Excerpt is the result of a Read.
type Excerpt struct {
	Text       string
	Raw        string // the same output, as written
	Begin, End int64  // the offsets of both; Begin is later than requested if bytes were dropped
	Base       int64  // the offset of the output's first byte; later than requested after a Restart
	Over       bool   // Text is empty, and no more output will follow
	total      int64  // Total at the time of the Read
	final      bool   // an unfinished character at the end was shown
}

// Read returns up to size bytes from an offset on, in whole characters. size is at least 8. Several readers share text.
func (r *Buffer) Read(from int64, size int) Excerpt {
	piece := int64(size) - utf8.UTFMax
	r.mu.Lock()
	recent := &r.recent[from/piece%int64(len(r.recent))]
	if e := recent.Value(); e != nil && e.Begin == from && from >= r.base && len(e.Raw) <= size &&
		(e.End+utf8.UTFMax <= e.total || e.total == r.end && e.final == r.finalLocked()) { // it is still all
		defer r.mu.Unlock()
		return *e
	}
	oldest := r.end - r.keptLocked()
	e := Excerpt{Begin: max(from, r.base), Base: r.base, total: r.end, final: r.finalLocked()}
	e.End = e.Begin
	if oldest > r.base {
		e.Begin = max(from, oldest+contextBytes)
	}
	context := int(min(e.Begin-oldest, contextBytes))
	stop := min((e.Begin+utf8.UTFMax)/piece*piece+piece, r.end)
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
	if e.Over = raw == "" && over; raw != "" {
		r.mu.Lock()
		defer r.mu.Unlock()
		*recent = weak.Make(new(e))
	}
	return e
}

// Changed returns a channel that the Buffer closes once a Read would return more than e: more output, a formerly
// withheld character, or the end. It returns nil if a Read would return more now.
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

// Written returns the number of bytes written since the last Restart.
func (r *Buffer) Written() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.end - r.base
}

// Total returns the offset of the output's end: the number of bytes written so far, plus one for each Restart.
func (r *Buffer) Total() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.end
}
