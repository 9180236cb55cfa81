package screen

// Changes to the rows: printing, erasing and scrolling.

import "slices"

// lineDrawing has the characters for '`' to '~' of the line-drawing set.
var lineDrawing = [...]rune{
	'◆', '▒', '␉', '␌', '␍', '␊', '°', '±', '␤', '␋', '┘', '┐', '┌', '└', '┼', '⎺',
	'⎻', '─', '⎼', '⎽', '├', '┤', '┴', '┬', '│', '≤', '≥', 'π', '≠', '£', '·',
}

// line returns the cursor's row, ready for changes.
func (s *Screen) line() *line {
	l := s.lines[s.y]
	if len(l.cells) < s.columns || l.end > s.columns {
		l.fit(s.columns)
	}
	return l
}

// print writes a character at the cursor.
func (s *Screen) print(c rune) {
	if s.drawing[s.set] && c >= '`' && c <= '~' {
		c = lineDrawing[c-'`']
	}
	w := min(width(c), s.columns)
	if w == 0 && !s.addMark(c) {
		w = 1 // do not lose the text
	}
	if w > 0 {
		s.put(c, w)
	}
}

// addMark adds a zero-width character to the character before the cursor. It reports whether there was room for it.
func (s *Screen) addMark(c rune) bool {
	x := s.x - 1
	if s.pending {
		x = s.x
	}
	return x >= 0 && s.line().mark(x, c)
}

func (s *Screen) put(c rune, w int) {
	wrapped := s.wrap(w)
	l := s.line()
	if s.insert {
		l.insert(s.x, w, s.columns)
	}
	l.overwrite(s.x, s.x+w)
	l.cells[s.x] = c
	for x := s.x + 1; x < s.x+w; x++ {
		l.cells[x] = tail
	}
	s.advance(l, w, wrapped)
	s.last = c
}

// printASCII prints ASCII characters other than control characters.
func (s *Screen) printASCII(p []byte) {
	if s.insert || s.drawing[s.set] {
		for _, c := range p {
			s.print(rune(c))
			s.at++
		}
		return
	}
	s.last = rune(p[len(p)-1])
	for len(p) > 0 {
		wrapped := s.wrap(1)
		n := min(len(p), s.columns-s.x)
		l := s.line()
		l.overwrite(s.x, s.x+n)
		cells := l.cells[s.x : s.x+n]
		for i, c := range p[:n] {
			cells[i] = rune(c)
		}
		s.advance(l, n, wrapped)
		s.at += int64(n)
		p = p[n:]
	}
}

// advance moves the cursor past n written cells.
func (s *Screen) advance(l *line, n int, wrapped bool) {
	if s.x == 0 {
		l.continued = wrapped
	}
	s.x += n
	if s.x == s.columns {
		s.x, s.pending = s.columns-1, s.autowrap
	}
}

// wrap moves the cursor to the next row if w cells do not fit, and reports whether the line continues there.
func (s *Screen) wrap(w int) bool {
	if !s.autowrap {
		s.x = min(s.x, s.columns-w)
		return false
	}
	if !s.pending && s.x+w <= s.columns {
		return false
	}
	s.x = 0
	s.lines[s.y].wrapped = true // cells beyond the last column, from a wider screen, stay part of the line
	return s.index()
}

// index moves the cursor down, and scrolls at the bottom margin. It reports whether the cursor is now in a new row.
func (s *Screen) index() bool {
	s.pending = false
	switch {
	case s.y == s.bottom:
		s.scrollUp(1)
	case s.y < s.rows-1:
		s.y++
	default:
		return false
	}
	return true
}

// reverseIndex moves the cursor up, and scrolls at the top margin.
func (s *Screen) reverseIndex() {
	s.pending = false
	switch {
	case s.y == s.top:
		s.scrollDown(s.top, 1)
	case s.y > 0:
		s.y--
	}
}

// scrollUp moves the rows between the margins up. Rows that leave the main screen at its top become history.
func (s *Screen) scrollUp(n int) {
	n = min(n, s.bottom-s.top+1)
	if s.top == 0 && !s.alternate {
		s.scrollTo(s.lines[:n])
		s.frame = false
	}
	s.takeOut(s.top, n)
}

// scrollTo adds rows that scroll off to the text before the screen.
func (s *Screen) scrollTo(lines []*line) {
	if s.flow != nil {
		s.flow.end(s, lines)
	} else {
		s.history.add(lines)
	}
}

// takeOut removes n rows from top on, moves the rows below them up, and adds empty rows at the bottom margin.
func (s *Screen) takeOut(top, n int) {
	rows := s.lines[top : s.bottom+1]
	n = min(n, len(rows))
	resetLines(rows[:n])
	rotate(rows, n)
}

// scrollDown moves the rows between top and the bottom margin down by n, and adds empty rows at the top.
func (s *Screen) scrollDown(top, n int) {
	if s.flow != nil {
		s.breakFlow()
		return
	}
	rows := s.lines[top : s.bottom+1]
	kept := max(0, len(rows)-n)
	resetLines(rows[kept:])
	rotate(rows, kept)
}

// rotate moves the first n rows to the end.
func rotate(rows []*line, n int) {
	if n == 1 { // the usual case
		first := rows[0]
		copy(rows, rows[1:])
		rows[len(rows)-1] = first
		return
	}
	slices.Reverse(rows[:n])
	slices.Reverse(rows[n:])
	slices.Reverse(rows)
}

// insertLines implements IL and DL: it moves the rows from the cursor's row to the bottom margin.
func (s *Screen) insertLines(n int, move func(top, n int)) {
	if s.y >= s.top && s.y <= s.bottom {
		move(s.y, n)
		s.moveTo(0, s.y)
	}
}

// scrollOff clears the screen. The text of the main screen becomes history, unless it is a frame: a program that keeps
// redrawing would leave any number of frames.
func (s *Screen) scrollOff() {
	if !s.alternate {
		if !s.frame {
			s.scrollTo(s.lines[:used(s.lines)])
		}
		s.frame = true
	}
	resetLines(s.lines)
}

// eraseDisplay implements ED. Text cleared from the whole main screen may become history. History is never cleared, so
// ED 3 has no effect. ED 0 erases even at the top, because a program may repeatedly redraw its progress from there.
func (s *Screen) eraseDisplay(what int) {
	switch what {
	case 0:
		s.eraseLine(0)
		resetLines(s.lines[s.y+1:])
	case 1:
		s.eraseLine(1)
		resetLines(s.lines[:s.y])
	case 2:
		s.scrollOff()
	}
}

// eraseLine implements EL. EL 0 does nothing after a line that fills the row: grep sends it after each colour.
func (s *Screen) eraseLine(what int) {
	l := s.line()
	switch {
	case what == 0 && !s.pending:
		l.erase(s.x, s.columns)
	case what == 1:
		l.erase(0, s.x+1)
	case what == 2:
		l.erase(0, s.columns)
	}
}

// moveCells implements ICH and DCH.
func (s *Screen) moveCells(n int, move func(l *line, x, n, columns int)) {
	move(s.line(), s.x, n, s.columns)
	s.pending = false
}

// eraseCells implements ECH.
func (s *Screen) eraseCells(n int) {
	s.line().erase(s.x, min(s.x+n, s.columns))
	s.pending = false
}

// repeat implements REP. It fills at most the cells of two rows, to bound the cost of a short sequence.
func (s *Screen) repeat(n int) {
	for range min(n, 2*s.columns) {
		if s.last != 0 {
			s.print(s.last)
		}
	}
}

// showAlternate switches between the main and the alternate screen. The alternate screen is empty each time.
func (s *Screen) showAlternate(on bool) {
	if s.alternate == on || s.flow != nil {
		return
	}
	s.alternate = on
	s.saved, s.hiddenSaved = s.hiddenSaved, s.saved
	if on {
		s.lines, s.main = newLines(s.rows), s.lines
	} else {
		s.lines, s.main = s.main, nil
	}
}
