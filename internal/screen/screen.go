// Package screen converts terminal output to plain text. A Screen interprets the bytes read from a PTY as a terminal
// does, and returns the final text, without escape sequences. Redrawn text appears only once. Lines that scrolled off
// precede the lines on the screen. When a program clears the whole screen, the Screen keeps the text as if it had
// scrolled off, because the agent may need it. It does not keep frames. A frame is the text written after such a clear,
// if nothing has scrolled off since then.
//
// The package discards colours, titles and pictures, does not answer queries, and does not start goroutines. It imports
// only the standard library and internal/output, which keeps the scrolled-off lines. For any input, the limit and the
// size of the screen bound the memory, and the size of the screen bounds the time per byte.
//
// Lines does the same for output that a command writes to a pipe, one line at a time.
package screen

// Type Screen: its state and its methods for callers.

import (
	"math"
	"sync"
	"unicode/utf8"
)

const maxSize = 1000 // maximum number of columns and of rows

// CellBytes is the maximum memory per character cell, in bytes, for the main and the alternate screen together.
const CellBytes = 40

// A Screen is a terminal's screen and the text that scrolled off it. Its methods are safe for concurrent use. They
// block only while another call holds the lock.
type Screen struct {
	mu      sync.Mutex // held only while working in memory
	history history

	columns, rows int
	lines         []*line // the visible lines, as many as rows
	alternate     bool    // the alternate screen is visible
	frame         bool    // the main screen was cleared, and nothing has scrolled off since then
	main          []*line // lines of the main screen while the alternate screen is visible
	top, bottom   int     // first and last row of the scrolling region
	tabs          [maxSize]bool

	cursor
	saved, hiddenSaved cursor // saved by DECSC, for the visible and the hidden screen
	autowrap, insert   bool
	last               rune // the character that REP repeats, or 0

	at   int64  // number of bytes handled so far
	flow *Lines // gets the rows of output that has no screen, or nil

	parser
}

// cursor is the position of the next character, and the other state that DECSC saves.
type cursor struct {
	x, y    int
	pending bool    // the last column is written, so that with autowrap the next character starts a row
	origin  bool    // row numbers start at the top margin
	drawing [2]bool // whether G0 and G1 are the line-drawing set
	set     int     // the set in use, 0 or 1
}

// New returns an empty Screen of 1 to 1000 columns and rows. Text returns at most limit bytes, Head at most head bytes.
func New(columns, rows int, limit, head int64) *Screen {
	s := &Screen{columns: clamp(columns, 1, maxSize), rows: clamp(rows, 1, maxSize)}
	s.history = newHistory(clamp(limit, 0, math.MaxInt64/4), clamp(head, 0, math.MaxInt64/4))
	s.lines = newLines(s.rows)
	s.softReset()
	s.resetTabs()
	return s
}

func clamp[T int | int64](n, least, most T) T { return min(max(n, least), most) }

// Write interprets a piece of program output. An unfinished UTF-8 character at its end waits for the next call.
func (s *Screen) Write(p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write(p)
}

// Finish reports that the program's output is complete. Each byte of an unfinished UTF-8 character at the end becomes
// U+FFFD. Write may still be called.
func (s *Screen) Finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ; s.heldBytes > 0; s.heldBytes-- {
		s.next(utf8.RuneError, 1)
	}
}

// Resize changes the size, with the same bounds as New. It does not rewrap lines: on a narrower screen, a row keeps the
// cells beyond the last column until the program writes to the row or erases in it. On a screen with fewer rows, the
// surplus rows scroll off at the top; empty rows below the cursor and the text do not count. Resize resets the margins.
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

// Size returns the number of columns and rows.
func (s *Screen) Size() (columns, rows int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.columns, s.rows
}

// resizeLines returns exactly rows lines, and the number of lines removed at the top.
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

// Text returns the scrolled-off lines and the lines of the screen, separated by '\n'. A wrapped line is one line. Text
// omits blanks at the end of a line and empty lines at the end, except for blanks written before the cursor in its row.
// The text ends with a newline if the cursor is below the last line, as after a program that ended its last line. While
// the alternate screen is visible, Text returns its lines instead of those of the main screen.
//
// The text is valid UTF-8 without control characters except '\n'. If it is longer than the limit, Text returns as many
// of the last characters as fit. start is the number of bytes before them.
func (s *Screen) Text() (text string, start int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.history.last(s.shown())
}

// Head returns the first characters of the same text, as many as fit into limit bytes and into New's head. They can
// change while they are on the screen.
func (s *Screen) Head(limit int64) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.history.first(s.shown(), limit)
}

// shown returns the rows down to the last row with text or the cursor's row, whichever is lower.
func (s *Screen) shown() rows {
	left := s.x
	if s.pending {
		left++
	}
	return rows{s.lines[:max(used(s.lines), s.y+1)], s.y, left}
}
