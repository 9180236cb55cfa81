package screen

// Rows of cells. A row has no cells before something is written to it.

import (
	"slices"
	"unicode/utf8"
)

const (
	// maxMarks are the characters without width that a cell can have besides its own.
	maxMarks = 4
	// tail stands in the second cell of a wide character.
	tail rune = -1
)

// line is one row. A line of a program that is longer than the row goes on in the next one: wrapped and continued say
// so at both ends, since either row may be changed afterwards.
type line struct {
	cells     []rune           // 0 where nothing was written
	marks     [][maxMarks]rune // nil, or as long as cells; from the first 0 on, none
	end       int              // from here on all cells are 0
	wrapped   bool             // the text went on in the row below
	continued bool             // the first cell was written because the row above was full
}

func newLines(n int) []*line {
	lines, room := make([]*line, n), make([]line, n)
	for i := range lines {
		lines[i] = &room[i]
	}
	return lines
}

// used is the number of lines down to the last that has text.
func used(lines []*line) int {
	for n := len(lines); n > 0; n-- {
		if content, _ := lines[n-1].extent(); content > 0 {
			return n
		}
	}
	return 0
}

// reset makes the row empty.
func (l *line) reset() {
	clear(l.cells[:l.end])
	*l = line{cells: l.cells}
}

func resetLines(lines []*line) {
	for _, l := range lines {
		l.reset()
	}
}

// fit makes the row as long as the screen is wide, and drops what is right of it.
func (l *line) fit(columns int) {
	if more := columns - len(l.cells); more > 0 {
		l.cells = append(make([]rune, 0, columns), l.cells...)[:columns]
		if l.marks != nil {
			l.marks = append(l.marks, make([][maxMarks]rune, more)...)
		}
	}
	if l.end > columns {
		l.erase(columns, l.end)
	}
}

// split makes blanks of a wide character that lies on both sides of a column.
func (l *line) split(x int) {
	if x > 0 && x < len(l.cells) && l.cells[x] == tail {
		l.cells[x-1], l.cells[x] = 0, 0
		l.clearMarks(x-1, x)
	}
}

func (l *line) clearMarks(from, to int) {
	if l.marks != nil {
		clear(l.marks[from:to])
	}
}

// overwrite prepares the cells for what the caller then writes into them.
func (l *line) overwrite(from, to int) {
	l.split(from)
	l.split(to)
	l.clearMarks(from, to)
	l.end = max(l.end, to)
}

// erase makes cells blank.
func (l *line) erase(from, to int) {
	if from == 0 {
		l.continued = false
	}
	if to >= l.end {
		l.wrapped = false
	}
	if from < min(to, l.end) {
		l.split(from)
		l.split(to)
		l.blank(from, to)
	}
}

// blank clears cells; wide characters are split already.
func (l *line) blank(from, to int) {
	if to = min(to, l.end); from >= to {
		return
	}
	clear(l.cells[from:to])
	l.clearMarks(from, to)
	if to == l.end {
		l.end = from
	}
}

// insert moves the cells from x on to the right by n, out of the screen, and makes blanks.
func (l *line) insert(x, n, columns int) {
	n = min(n, columns-x)
	l.split(x)
	l.erase(columns-n, columns)
	copy(l.cells[x+n:columns], l.cells[x:])
	if l.marks != nil {
		copy(l.marks[x+n:columns], l.marks[x:])
	}
	if l.end > x {
		l.end = min(l.end+n, columns)
	}
	l.blank(x, x+n)
}

// remove takes n cells from x on out, and moves those on the right of them to the left.
func (l *line) remove(x, n, columns int) {
	n = min(n, columns-x)
	l.erase(x, x+n)
	copy(l.cells[x:], l.cells[x+n:columns])
	if l.marks != nil {
		copy(l.marks[x:], l.marks[x+n:columns])
	}
	l.blank(columns-n, columns)
}

// mark adds a character without width to the one at x, and reports whether there was room.
func (l *line) mark(x int, c rune) bool {
	if l.cells[x] == tail {
		x--
	}
	if l.marks == nil {
		l.marks = make([][maxMarks]rune, len(l.cells))
	}
	i := slices.Index(l.marks[x][:], 0)
	if i < 0 {
		return false
	}
	l.marks[x][i] = c
	if l.cells[x] == 0 {
		l.cells[x] = ' '
	}
	l.end = max(l.end, x+1)
	return true
}

// extent returns how many cells there are up to the last that is not blank, and up to the last that was written.
func (l *line) extent() (content, written int) {
	written = l.end
	for written > 0 && l.cells[written-1] == 0 {
		written--
	}
	content = written
	for content > 0 && (l.cells[content-1] == 0 || l.cells[content-1] == ' ') && !l.hasMarks(content-1) {
		content--
	}
	return content, written
}

func (l *line) hasMarks(x int) bool { return l.marks != nil && l.marks[x][0] != 0 }

// appendText appends the first cells, as text.
func (l *line) appendText(to []byte, cells int) []byte {
	to = slices.Grow(to, cells)
	for x, c := range l.cells[:cells] {
		switch {
		case c == 0:
			to = append(to, ' ')
		case c == tail:
		case c < utf8.RuneSelf:
			to = append(to, byte(c))
		default:
			to = utf8.AppendRune(to, c)
		}
		if l.hasMarks(x) {
			for _, m := range l.marks[x] {
				if m != 0 {
					to = utf8.AppendRune(to, m)
				}
			}
		}
	}
	return to
}
