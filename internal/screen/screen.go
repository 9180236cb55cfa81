// Package screen turns what programs write to a terminal into plain text. A Screen takes the bytes as they come from a
// PTY, interprets them as a terminal does, and returns what is left in the end: without escape sequences, with what was
// redrawn only once, and with the lines that scrolled off before those on the screen. Text that a program clears from
// the whole screen is kept, as if it had scrolled off, since an agent may need it. Frames are not kept: text written
// after such a clearing, if nothing has scrolled off since.
//
// The package keeps no colours, titles or pictures, answers no query, and starts no goroutine. It imports the standard
// library and internal/output, which holds the lines that scrolled off. Whatever is written, memory is bounded by the
// limit and the size of the screen, and the time that a byte takes by the size of the screen.
package screen

// A Screen: its state, and what its callers do with it.

import (
	"math"
	"sync"
	"unicode/utf8"
)

const maxSize = 1000 // columns, and rows

// CellBytes is how many bytes of memory a character of the screen takes at the most, on both screens together.
const CellBytes = 40

// Screen is a terminal's screen and the text that scrolled off it. Its methods are safe for concurrent use, and wait
// for nothing but each other.
type Screen struct {
	mu      sync.Mutex // over work in memory
	history history

	columns, rows int
	lines         []*line // those that are shown: rows of them
	alternate     bool    // is shown
	frame         bool    // the main screen was cleared, and nothing has scrolled off since
	main          []*line // the main screen's while the alternate one is shown
	top, bottom   int     // the first and last row that scroll
	tabs          [maxSize]bool

	cursor
	saved, hiddenSaved cursor // by DECSC, on the screen that is shown and on the other one
	autowrap, insert   bool
	last               rune // what REP repeats; 0 if there is nothing

	parser
}

// cursor is where the next character goes, and what DECSC saves with it.
type cursor struct {
	x, y    int
	pending bool    // the last column was written: the next character goes to the next row, with autowrap
	origin  bool    // rows count from the top margin
	drawing [2]bool // whether G0 and G1 are the line-drawing characters
	set     int     // which of both is in use
}

// New returns an empty screen. columns and rows are moved into 1 to 1000. Text returns at most limit bytes, and Head at
// most head bytes.
func New(columns, rows int, limit, head int64) *Screen {
	s := &Screen{columns: clamp(columns, 1, maxSize), rows: clamp(rows, 1, maxSize)}
	s.history = newHistory(clamp(limit, 0, math.MaxInt64/4), clamp(head, 0, math.MaxInt64/4))
	s.lines = newLines(s.rows)
	s.softReset()
	s.resetTabs()
	return s
}

func clamp[T int | int64](n, least, most T) T { return min(max(n, least), most) }

// Write takes what a program wrote, cut anywhere. An unfinished UTF-8 character at the end waits for the next call.
func (s *Screen) Write(p []byte) {
	if len(p) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write(p)
}

// Finish indicates that the program's output is complete: of an unfinished UTF-8 character at the end, each byte
// becomes U+FFFD. More may be written all the same.
func (s *Screen) Finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ; s.heldBytes > 0; s.heldBytes-- {
		s.next(utf8.RuneError)
	}
}

// Resize changes the size, with New's bounds. Lines are not wrapped anew: a row keeps what is right of a narrower
// screen until something is written to the row or erased in it. Rows that a lower screen has no room for, down to the
// cursor and the last row with text, scroll off at the top. The margins are reset.
func (s *Screen) Resize(columns, rows int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	columns, rows = clamp(columns, 1, maxSize), clamp(rows, 1, maxSize)
	if columns == s.columns && rows == s.rows {
		return
	}
	for _, c := range []*cursor{&s.cursor, &s.saved, &s.hiddenSaved} {
		if c.x >= columns {
			c.x, c.pending = columns-1, true
		}
	}
	var off int
	s.lines, off = s.resizeLines(s.lines, rows, s.y, !s.alternate)
	s.y, s.saved.y = clamp(s.y-off, 0, rows-1), max(0, s.saved.y-off)
	if s.alternate {
		s.main, off = s.resizeLines(s.main, rows, min(s.hiddenSaved.y, s.rows-1), true)
		s.hiddenSaved.y = max(0, s.hiddenSaved.y-off)
	}
	s.columns, s.rows, s.top, s.bottom = columns, rows, 0, rows-1
}

// Size returns the size.
func (s *Screen) Size() (columns, rows int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.columns, s.rows
}

// resizeLines returns as many lines as there are rows, and how many were taken off at the top.
func (s *Screen) resizeLines(lines []*line, rows, y int, main bool) ([]*line, int) {
	off := max(0, max(y+1, used(lines))-rows)
	if main {
		s.history.add(lines[:off])
	}
	lines = lines[off:]
	if len(lines) < rows {
		return append(lines, newLines(rows-len(lines))...), off
	}
	return append([]*line(nil), lines[:rows]...), off
}

// Text returns the lines that scrolled off and the lines of the screen, with '\n' between them. A line that wrapped is
// one line. Blanks at the end of a line and empty lines at the end are left out, but not blanks that were written
// before the cursor on its row. The text ends with a newline if the cursor is below the last line, as after a program
// that ended its last line. While the alternate screen is shown it stands in place of the main one.
//
// The text is valid UTF-8 without control characters except '\n', of at most the limit: the last characters, as many
// as there is room for. start is how many bytes come before them.
func (s *Screen) Text() (text string, start int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.history.last(s.shown())
}

// Head returns the first characters of the same text, of at most limit bytes and what New was asked for. They can
// change as long as they stand on the screen.
func (s *Screen) Head(limit int64) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.history.first(s.shown(), limit)
}

// shown are the rows down to the last with text or the cursor's.
func (s *Screen) shown() rows {
	left := s.x
	if s.pending {
		left++
	}
	return rows{s.lines[:max(used(s.lines), s.y+1)], s.y, left}
}
