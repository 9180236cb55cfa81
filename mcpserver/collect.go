package mcpserver

// The parts of the output in an excerpt: its ends, the first errors between them, and a mark for each cut.

import (
	"fmt"
	"iter"
	"slices"
	"strings"
)

const (
	// headShare is the part of an excerpt, as 1/headShare, that shows the beginning.
	headShare = 4
	// With errors between them, the ends are shorter, because the errors say more.
	headBesideFailures = 16
	tailBesideFailures = 4
)

// piece is a line of output, or a part of a long one.
type piece struct {
	from, to int64
	text     string
	lost     bool  // text is a mark for bytes dropped by the terminal
	repeated int64 // bytes of the same line again, which only a mark in text stands for
}

// collect joins pieces to an excerpt. If it is resumable, showStart stops where the next excerpt can go on.
func collect(
	pieces iter.Seq[piece], offset int64, limit int, part show, resumable bool, failures []piece,
) excerpt {
	x := excerption{limit: limit, headLimit: limit / headShare}
	switch part {
	case showStart:
		x.headLimit = limit
	case showEnd:
		x.headLimit = 0
	}
	exact := part == showStart && resumable
	if !exact {
		pieces = foldLines(pieces)
	}
	e := excerpt{offset: offset, next: offset}
	for p := range pieces {
		if exact && !x.fitsHead(p) {
			break
		}
		x.add(p)
		x.trim(limit - x.headLimit)
		e.next = p.to
	}
	if part == showEnds {
		x.addFailures(failures)
	}
	x.join(&e, resumable)
	return e
}

// excerption is an excerpt being made.
type excerption struct {
	limit, headLimit   int
	head, tail         []piece
	headSize, tailSize int
	failures           []piece // between head and tail
	cut                []piece // omitted or lost, in its order, joined, and without text
}

func (x *excerption) fitsHead(p piece) bool {
	return len(x.tail)+len(x.cut) == 0 && x.headSize+len(p.text) <= x.headLimit
}

// add adds a piece to the head or the tail.
func (x *excerption) add(p piece) {
	if x.fitsHead(p) {
		x.head = append(x.head, p)
		x.headSize += len(p.text)
	} else {
		x.tail = append(x.tail, p)
		x.tailSize += len(p.text)
	}
}

// trim cuts the beginning of the tail so that size bytes remain.
func (x *excerption) trim(size int) {
	for x.tailSize > size {
		x.cut = joinCut(append(x.cut, x.tail[0]))
		x.tailSize -= len(x.tail[0].text)
		x.tail = x.tail[1:]
	}
}

// joinCut joins the last two pieces of a cut if they are of the same kind.
func joinCut(cut []piece) []piece {
	n := len(cut) - 1
	cut[n].text, cut[n].repeated = "", 0
	if n > 0 && cut[n-1].lost == cut[n].lost {
		cut[n-1].to = cut[n].to
		return cut[:n]
	}
	return cut
}

// addFailures shortens the ends of a cut excerpt, and adds the failures between them.
func (x *excerption) addFailures(failures []piece) {
	isLost := func(p piece) bool { return p.lost }
	isCut := len(x.cut) > 0 || slices.ContainsFunc(x.head, isLost) || slices.ContainsFunc(x.tail, isLost)
	if len(failures) == 0 || !isCut {
		return
	}
	keep, size := 0, 0
	for keep < len(x.head) && !x.head[keep].lost && size+len(x.head[keep].text) <= x.limit/headBesideFailures {
		size += len(x.head[keep].text)
		keep++
	}
	rest := slices.Concat(x.head[keep:], x.cut, x.tail)
	x.head, x.headSize, x.cut, x.tail, x.tailSize = x.head[:keep], size, nil, nil, 0
	from := len(rest)
	for room := x.limit / tailBesideFailures; from > 0 && !rest[from-1].lost && rest[from-1].text != ""; from-- {
		if room -= len(rest[from-1].text); room < 0 {
			break
		}
	}
	for _, p := range rest[:from] {
		x.cut = joinCut(append(x.cut, p))
	}
	x.tail = rest[from:]
	room, at := x.limit/failuresShare, int64(-1)
	for _, p := range failures {
		if !x.hides(p) {
			continue
		}
		if room -= len(p.text); p.from != at {
			room -= maxMark // of the part omitted before it
		}
		if room < 0 {
			break
		}
		x.failures = append(x.failures, p)
		at = p.to
	}
}

// hides reports whether no part of a piece is shown.
func (x *excerption) hides(p piece) bool {
	isIn := func(hidden piece) bool { return hidden.from < p.to && p.from < hidden.to }
	isLost := func(shown piece) bool { return shown.lost && isIn(shown) }
	isShown := func(shown piece) bool { return !shown.lost && isIn(shown) }
	if slices.ContainsFunc(x.head, isShown) || slices.ContainsFunc(x.tail, isShown) {
		return false
	}
	return slices.ContainsFunc(x.cut, isIn) || slices.ContainsFunc(x.head, isLost) || slices.ContainsFunc(x.tail, isLost)
}

// join sets the text of an excerpt, and the numbers of omitted and of lost bytes.
func (x *excerption) join(e *excerpt, resumable bool) {
	var b strings.Builder
	write := func(pieces []piece) {
		for _, p := range pieces {
			b.WriteString(p.text)
			e.omitted += p.repeated
			if p.lost {
				e.lost += p.to - p.from
			}
		}
	}
	write(x.head)
	if len(x.cut) > 0 && b.Len() > 0 && !strings.HasSuffix(b.String(), "\n") {
		b.WriteByte('\n')
	}
	marks := marker{out: &b, e: e, resumable: resumable}
	failures, shown := x.failures, int64(0)
	for _, hidden := range x.cut {
		hidden.from = max(hidden.from, shown)
		for len(failures) > 0 && failures[0].from < hidden.to {
			marks.mark(hidden, failures[0].from)
			if len(failures) == len(x.failures) {
				b.WriteString("[the first errors]\n")
			}
			b.WriteString(failures[0].text)
			shown = failures[0].to
			hidden.from, failures = shown, failures[1:]
		}
		marks.mark(hidden, hidden.to)
	}
	write(x.tail)
	e.text = b.String()
}

// marker writes the marks of an excerpt.
type marker struct {
	out       *strings.Builder
	e         *excerpt
	resumable bool
	advised   bool // a mark has said how to read on
}

// mark writes a mark for the hidden part up to an offset.
func (m *marker) mark(hidden piece, to int64) {
	size := to - hidden.from
	switch {
	case size <= 0:
	case hidden.lost:
		m.e.lost += size
		m.out.WriteString(lostMark(size))
	default:
		m.e.omitted += size
		fmt.Fprintf(m.out, "[… %d bytes omitted%s …]\n", size, m.advice(hidden.from))
	}
}

// advice returns how to read an omitted part.
func (m *marker) advice(from int64) string {
	switch {
	case !m.resumable:
		return ""
	case m.advised:
		return fmt.Sprintf(", from offset %d on", from)
	}
	m.advised = true
	return fmt.Sprintf("; to read them, call output with offset %d and show \"start\"", from)
}

func lostMark(size int64) string { return fmt.Sprintf("[… %d bytes are no longer kept …]\n", size) }

func endLine(text string) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}

// foldLines replaces repetitions of a line by their number.
func foldLines(pieces iter.Seq[piece]) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		var f folder
		for p := range pieces {
			if !f.add(p, yield) {
				return
			}
		}
		f.flush(yield)
	}
}

// folder holds back a line that may be repeated.
type folder struct {
	same  []piece // the same line; if a mark is shorter than the repetitions, only the first and the last one
	more  int     // repetitions of the first one
	begun bool    // the last piece did not end its line
}

// maxMark is about the length of a mark within an excerpt.
const maxMark = 50

func (f *folder) add(p piece, yield func(piece) bool) bool {
	whole := !f.begun && !p.lost && strings.HasSuffix(p.text, "\n")
	f.begun = !strings.HasSuffix(p.text, "\n")
	switch {
	case !whole:
		return f.flush(yield) && yield(p)
	case len(f.same) == 0 || f.same[0].text != p.text:
		if !f.flush(yield) {
			return false
		}
		f.same = append(f.same[:0], p)
	case f.more*len(p.text) <= maxMark:
		f.same = append(f.same, p)
		f.more++
	default:
		f.same[len(f.same)-1] = p
		f.more++
	}
	return true
}

// flush yields the line.
func (f *folder) flush(yield func(piece) bool) bool {
	same := f.same
	if len(same) > 0 && f.more*len(same[0].text) > maxMark {
		p := same[0]
		p.repeated = same[len(same)-1].to - p.to
		p.to += p.repeated
		p.text += fmt.Sprintf("[… the same line %d more times …]\n", f.more)
		same = []piece{p}
	}
	f.same, f.more = nil, 0
	for _, p := range same {
		if !yield(p) {
			return false
		}
	}
	return true
}
