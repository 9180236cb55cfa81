package mcpserver

// Excerpts of output for results, from an offset on. Offsets count the bytes that the command wrote.

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/display"
)

// show says which part of long output an excerpt shows.
type show int

const (
	showEnds  show = iota // the beginning and the end
	showStart             // the beginning, to read on from there
	showEnd
)

const (
	// leadIn is how much output before the offset is read, to know of an escape sequence that begins there.
	leadIn = 1 << 10
)

// excerpt is a part of a terminal's output.
type excerpt struct {
	text    string
	offset  int64 // where the text begins
	next    int64 // where to read on
	omitted int64 // bytes left out between offset and next, which can be read
	lost    int64 // bytes dropped by the terminal
	more    bool  // there is output after next
}

// readOutput returns an excerpt of the output from an offset on, with at most about limit bytes of text. A negative
// offset counts from the end. If failures are given, they are shown between the ends. readOutput does not wait for
// output.
func readOutput(t *acpterm.Terminal, offset int64, limit int, part show, failures []piece) excerpt {
	total := t.OutputTotal()
	if offset < 0 {
		offset += total
	}
	offset = characterStart(t, min(max(offset, 0), total))
	size := min(max(limit/16, 64), 4<<10)
	if t.HasPTY() {
		return screenOutput(t, offset, total, limit, part, size, failures)
	}
	e := collect(outputPieces(t, offset, total, size, limit/2), offset, limit, part, true, failures)
	e.more = e.next < total
	return e
}

// screenOutput is readOutput for a PTY, whose text differs from the written bytes: it shows all of the text if anything
// was written after the offset.
func screenOutput(
	t *acpterm.Terminal, offset, total int64, limit int, part show, size int, failures []piece,
) excerpt {
	if offset > 0 && offset == total {
		return excerpt{offset: total, next: total}
	}
	e := collect(screenPieces(t, limit, size), 0, limit, part, false, failures)
	e.next = total
	return e
}

// screenPieces returns the pieces of the text of a PTY.
func screenPieces(t *acpterm.Terminal, limit, size int) iter.Seq[piece] {
	out := t.Output()
	var kept struct { // see request
		Head        string
		OutputStart int64
	}
	json.Unmarshal(out.Meta[limitsName], &kept)
	head := kept.Head[:min(int64(len(kept.Head)), kept.OutputStart)]
	return func(yield func(piece) bool) {
		s := splitter{size: size, most: limit / 2}
		_ = s.add(head, yield) && s.lose(kept.OutputStart, yield) && s.add(out.Output, yield) && s.end(yield)
	}
}

// characterStart returns where the character at an offset begins, if the offset is inside of it.
func characterStart(t *acpterm.Terminal, offset int64) int64 {
	from := max(0, offset-(utf8.UTFMax-1))
	around := ""
	for c := range t.Follow(&unwaiting{}, from) {
		if c.Offset > from+int64(len(around)) {
			around, from = "", c.Offset
		}
		if around += c.Raw; from+int64(len(around)) >= offset+utf8.UTFMax {
			break
		}
	}
	at := int(offset - from)
	for back := 1; back < utf8.UTFMax && back <= at && at < len(around); back++ {
		if r, size := utf8.DecodeRuneInString(around[at-back:]); r != utf8.RuneError && size > back {
			return offset - int64(back)
		}
	}
	return offset
}

// outputPieces returns the pieces of the output between two offsets.
func outputPieces(t *acpterm.Terminal, offset, end int64, size, most int) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		s := splitter{size: size, most: most, read: offset, at: offset}
		if offset > 0 {
			s.leadIn(t, offset)
		}
		for c := range t.Follow(&unwaiting{}, offset) {
			if c.Offset > s.read && !s.gap(t, c.Offset, yield) {
				return
			}
			if !s.add(c.Raw, yield) {
				return
			}
			if c.End >= end {
				break
			}
		}
		s.end(yield)
	}
}

// splitter splits output into pieces.
type splitter struct {
	size int   // the most bytes of a piece of a line that is shown as it was written
	most int   // the most bytes of another line, which cannot be read in parts
	read int64 // how much output text has got
	at   int64 // where the next piece begins
	text display.Renderer
}

// leadIn reads the output just before an offset.
func (s *splitter) leadIn(t *acpterm.Terminal, offset int64) {
	for c := range t.Follow(&unwaiting{}, max(0, offset-leadIn)) {
		s.text.Skip(c.Raw[:min(int64(len(c.Raw)), max(0, offset-c.Offset))])
		if c.End >= offset {
			return
		}
	}
}

// maxWrite is the most bytes that are rendered at once, which bounds the number of lines in memory.
const maxWrite = 16 << 10

// firstLines returns the first part of raw to be rendered, whole lines if possible.
func firstLines(raw string) string {
	if len(raw) <= maxWrite {
		return raw
	}
	return raw[:cmp.Or(strings.LastIndexByte(raw[:maxWrite], '\n')+1, maxWrite)]
}

// add splits raw. It returns false if yield did.
func (s *splitter) add(raw string, yield func(piece) bool) bool {
	for raw != "" {
		part := firstLines(raw)
		s.read += int64(len(part))
		if !s.pieces(s.text.Write(part), yield) {
			return false
		}
		raw = raw[len(part):]
	}
	return true
}

// end yields the rest.
func (s *splitter) end(yield func(piece) bool) bool { return s.pieces(s.text.Finish(), yield) }

// pieces yields the pieces of lines.
func (s *splitter) pieces(lines []display.Line, yield func(piece) bool) bool {
	for _, l := range lines {
		if !s.line(l, yield) {
			return false
		}
	}
	return true
}

// line yields a line, or the pieces of a long one.
func (s *splitter) line(l display.Line, yield func(piece) bool) bool {
	for l.Exact && len(l.Text) > s.size {
		n := s.size
		for !utf8.RuneStart(l.Text[n]) {
			n--
		}
		p := piece{from: s.at, to: s.at + int64(n), text: l.Text[:n]}
		l.Text, l.Size, s.at = l.Text[n:], l.Size-int64(n), p.to
		if !yield(p) {
			return false
		}
	}
	p := piece{from: s.at, to: s.at + l.Size, text: l.Text}
	if len(p.text) > s.most {
		text, newline := strings.CutSuffix(p.text, "\n")
		if p.text = shorten(text, s.most-len("[…]\n")); newline {
			p.text += "\n"
		}
	}
	if l.Hidden > 0 {
		p.text = endLine(p.text) + fmt.Sprintf("[… %d bytes of escape sequences …]\n", l.Hidden)
	}
	s.at = p.to
	return yield(p)
}

// gap yields pieces for output before the offset to, which Follow has dropped: the part in Terminal.Head, and a mark.
func (s *splitter) gap(t *acpterm.Terminal, to int64, yield func(piece) bool) bool {
	head, end := t.Head()
	if int64(len(head)) != end { // U+FFFD has replaced invalid bytes, which are as good as any other one
		head = strings.ReplaceAll(head, "\uFFFD", "\xFF")
	}
	exact := int64(len(head)) == end // unless the command has written U+FFFD, too
	if end = min(end, to); exact && s.read < end && !s.add(head[s.read:end], yield) {
		return false
	}
	return s.lose(to, yield)
}

// lose yields a mark for the bytes before the offset to, which the terminal has dropped.
func (s *splitter) lose(to int64, yield func(piece) bool) bool {
	rest := s.text.Finish()
	if !s.pieces(rest, yield) {
		return false
	}
	if s.at >= to {
		return true
	}
	p := piece{from: s.at, to: to, text: lostMark(to - s.at), lost: true}
	if len(rest) > 0 && !strings.HasSuffix(rest[len(rest)-1].Text, "\n") {
		p.text = "\n" + p.text
	}
	s.read, s.at = to, to
	return yield(p)
}

// unwaiting is a context that ends when its Done method is called. With it, Follow yields the existing output, and
// stops instead of waiting for more.
type unwaiting struct{ waited bool }

func (u *unwaiting) Deadline() (time.Time, bool) { return time.Time{}, false }
func (u *unwaiting) Value(any) any               { return nil }

func (u *unwaiting) Done() <-chan struct{} {
	u.waited = true
	done := make(chan struct{})
	close(done)
	return done
}

func (u *unwaiting) Err() error {
	if u.waited {
		return context.Canceled
	}
	return nil
}
