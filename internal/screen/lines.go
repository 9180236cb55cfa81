package screen

// Output without a screen, which a command writes to a pipe: the lines that a terminal with a single row shows.

import (
	"strings"
	"unicode/utf8"
)

const (
	// flowColumns is the width of the row. A longer line continues in the next row, as part of the same text: only a
	// carriage return does not go back to its beginning. It is a multiple of tabWidth.
	flowColumns = 512
	tabWidth    = 8
	// longSequence is the least length in bytes of the escape sequences that Line.Hidden counts.
	longSequence = 256
)

// A Line is a line of output as a terminal shows it, or a part of a long one.
type Line struct {
	Text   string // valid UTF-8 without control characters but tabs, and '\n' at the end of the line
	Size   int64  // number of bytes that the command wrote for it
	Hidden int64  // of them, bytes of long escape sequences
	Exact  bool   // Text is what the command wrote
}

// Lines converts output without a PTY to lines of text. It is a Screen of one row, whose rows go to a function when
// they scroll off, and which loses no text: tabs and blanks at the end of a line are kept, a line feed goes to the
// first column, and a sequence that moves the cursor to another row ends the line. The zero value is ready to use. It
// is not safe for concurrent use. Its memory has a fixed bound.
type Lines struct {
	screen *Screen    // nil until it is needed
	emit   func(Line) // during a call

	from       int64 // the offset of the current line, as counted by the screen
	odd        bool  // the current line is not exact
	special    bool  // the character being handled is not shown as it was written
	hidden     int64 // see Line.Hidden
	inSequence bool
	began      int64 // the offset of the sequence
}

// Write calls emit with each line, or part of a long one, that p ends. An unfinished character waits for the next call.
func (l *Lines) Write(p string, emit func(Line)) {
	for p != "" {
		end := strings.IndexByte(p, '\n') + 1
		if end > 0 && l.isFresh() && isPlain(p[:end-1]) {
			if l.screen != nil { // as if it had handled the line
				l.screen.last, l.screen.frame = 0, false
			}
			emit(Line{Text: p[:end], Size: int64(end), Exact: true})
			p = p[end:]
			continue
		}
		if end == 0 {
			end = len(p)
		}
		l.write(p[:end], emit)
		p = p[end:]
	}
}

// write is Write by means of the screen.
func (l *Lines) write(p string, emit func(Line)) {
	if l.screen == nil {
		l.screen = New(flowColumns, 1, 0, 0)
	}
	l.screen.flow, l.emit = l, emit
	l.screen.write([]byte(p))
}

// Rest returns the unfinished line, as far as its characters are complete.
func (l *Lines) Rest() Line {
	if l.screen == nil {
		return Line{}
	}
	return l.line(l.screen, l.screen.lines[0])
}

// Finish calls emit with what is unfinished, if anything. Each byte of an unfinished character becomes U+FFFD. Later
// output begins with a new line.
func (l *Lines) Finish(emit func(Line)) {
	if l.screen != nil {
		l.emit = emit
		l.screen.Finish()
		if rest := l.Rest(); rest.Size > 0 {
			emit(rest)
		}
	}
	*l = Lines{}
}

// Skip handles output that is not shown, to know what follows: the rest of an escape sequence is not text.
func (l *Lines) Skip(p string) {
	l.write(p, func(Line) {})
	s := l.screen
	s.heldBytes = 0
	resetLines(s.lines)
	s.x, s.pending = 0, false
	l.from, l.hidden, l.began, l.odd = s.at, 0, s.at, s.state != ground
}

// isFresh reports whether the next character begins a line without any state that would change it.
func (l *Lines) isFresh() bool {
	s := l.screen
	return s == nil || s.at == l.from && s.state == ground && s.heldBytes == 0 && s.cursor == cursor{} && !s.insert
}

// isPlain reports whether text has no control characters but tabs, and is valid UTF-8.
func isPlain(text string) bool {
	for i := 0; i < len(text); i++ {
		if c := text[i]; c-0x20 >= 0x5f && c != '\t' {
			return c >= utf8.RuneSelf && isPlainUTF8(text[i:])
		}
	}
	return true
}

func isPlainUTF8(text string) bool {
	for _, c := range text {
		if c < 0x20 && c != '\t' || c >= 0x7f && c < 0xa0 {
			return false
		}
	}
	return utf8.ValidString(text)
}

// before is called before the screen handles a character.
func (l *Lines) before(s *Screen, c rune, size int) {
	if s.state == ground && !l.inSequence && (c == esc || c >= 0x80 && c < 0xa0) {
		l.inSequence, l.began = true, s.at
	}
	isText := c >= 0x20 && c < 0x7f || c >= 0xa0 || c == '\n' || c == '\t'
	l.special = s.state != ground || !isText || c == utf8.RuneError && size == 1
	l.odd = l.odd || l.special
}

// after is called after the screen has handled a character.
func (l *Lines) after(s *Screen) {
	l.special = false
	l.endSequence(s)
}

// endSequence counts a sequence that has ended.
func (l *Lines) endSequence(s *Screen) {
	if l.inSequence && s.state == ground {
		l.hidden += countLong(s.at - l.began)
		l.inSequence = false
	}
}

func countLong(size int64) int64 {
	if size < longSequence {
		return 0
	}
	return size
}

// end is called with the rows that scroll off.
func (l *Lines) end(s *Screen, rows []*line) {
	l.endSequence(s)
	for _, row := range rows {
		r := l.line(s, row)
		if !row.wrapped {
			r.Text += "\n"
		}
		l.from, l.hidden, l.odd = s.at, 0, l.special
		if l.inSequence {
			l.began = s.at
		}
		l.emit(r)
	}
}

// line returns the text of a row.
func (l *Lines) line(s *Screen, row *line) Line {
	_, written := row.extent()
	r := Line{Text: string(row.appendText(nil, written)), Size: s.at - l.from, Hidden: l.hidden}
	if l.inSequence {
		r.Hidden += countLong(s.at - l.began)
	}
	r.Exact = !l.odd && !s.insert && s.drawing == [2]bool{} // modes may have been set by an earlier line
	return r
}

// breakFlow ends the line before the cursor moves to another row, so that its text is not overwritten.
func (s *Screen) breakFlow() {
	if s.flow != nil && used(s.lines) > 0 {
		s.scrollUp(1)
	}
}

// keepTab writes a tab as one character, which fills the cells up to the next tab stop if nothing was written there.
func (s *Screen) keepTab() {
	if s.pending {
		s.at-- // the full row ends before the tab
		s.wrap(1)
		s.at++
	}
	w := tabWidth - s.x%tabWidth
	if s.line().end > s.x {
		s.moveTo(s.x+w, s.y)
		return
	}
	last := s.last
	s.put('\t', w)
	s.last = last
}
