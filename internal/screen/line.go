package screen

// Rows of cells. A row does not have cells until a program writes to it.

import (
	"slices"
	"unicode/utf8"
)

const (
	// maxMarks is the maximum number of zero-width characters that a cell has in addition to its own character.
	maxMarks = 4
	// tail marks a cell of a wide character, or of a tab, after the first one.
	tail rune = -1
)

// line is one row. A program's line continues in the next row if it is longer than a row. wrapped and continued record
// that in both rows, because either row may change later.
type line struct {
	cells     []rune           // 0 for an unwritten cell
	marks     [][maxMarks]rune // nil, or as long as cells; the first 0 ends the marks of a cell
	end       int              // all cells from here on are 0
	wrapped   bool             // the text continued in the row below
	continued bool             // the first cell was written because the row above was full
}

func newLines(n int) []*line {
	lines, room := make([]*line, n), make([]line, n)
	for i := range lines {
		lines[i] = &room[i]
	}
	return lines
}

func used(lines []*line) int {
	for n := len(lines); n > 0; n-- {
		if content, _ := lines[n-1].extent(); content > 0 {
			return n
		}
	}
	return 0
}

func (l *line) reset() {
	clear(l.cells[:l.end])
	*l = line{cells: l.cells}
}

func resetLines(lines []*line) {
	for _, l := range lines {
		l.reset()
	}
}

// fit adapts the row to the width of the screen, and drops the cells beyond it.
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

// split replaces a wide character by blanks if it has cells on both sides of x.
func (l *line) split(x int) {
	if x <= 0 || x >= len(l.cells) || l.cells[x] != tail {
		return
	}
	from, to := x, x
	for from > 0 && l.cells[from] == tail {
		from--
	}
	for to < len(l.cells) && l.cells[to] == tail {
		to++
	}
	clear(l.cells[from:to])
	l.clearMarks(from, to)
}

func (l *line) clearMarks(from, to int) {
	if l.marks != nil {
		clear(l.marks[from:to])
	}
}

// overwrite prepares cells for writing. The caller then writes them.
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

// blank clears cells. The caller has already split wide characters.
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

// insert moves the cells from x on to the right by n, and puts n blanks at x. Cells beyond the last column are lost.
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

// remove removes n cells from x on, and moves the cells right of them to the left.
func (l *line) remove(x, n, columns int) {
	n = min(n, columns-x)
	l.erase(x, x+n)
	copy(l.cells[x:], l.cells[x+n:columns])
	if l.marks != nil {
		copy(l.marks[x:], l.marks[x+n:columns])
	}
	l.blank(columns-n, columns)
}

// mark adds a zero-width character to the cell at x, and reports whether there was room.
func (l *line) mark(x int, c rune) bool {
	for x > 0 && l.cells[x] == tail {
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

// extent returns the number of cells up to the last nonblank cell, and up to the last written cell.
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

// appendText appends the text of the first cells.
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
