package screen

// What characters, erasures and scrolling do to the rows.

import "slices"

// lineDrawing are the characters for '`' to '~' in the set of lines and boxes.
var lineDrawing = [...]rune{
	'◆', '▒', '␉', '␌', '␍', '␊', '°', '±', '␤', '␋', '┘', '┐', '┌', '└', '┼', '⎺',
	'⎻', '─', '⎼', '⎽', '├', '┤', '┴', '┬', '│', '≤', '≥', 'π', '≠', '£', '·',
}

// line returns the cursor's row, for changes.
func (s *Screen) line() *line {
	l := s.lines[s.y]
	if len(l.cells) < s.columns || l.end > s.columns {
		l.fit(s.columns)
	}
	return l
}

// print puts a character where the cursor is.
func (s *Screen) print(c rune) {
	if s.drawing[s.set] && c >= '`' && c <= '~' {
		c = lineDrawing[c-'`']
	}
	w := min(width(c), s.columns)
	if w == 0 && !s.addMark(c) {
		w = 1 // text is not lost
	}
	if w > 0 {
		s.put(c, w)
	}
}

// addMark adds a character without width to the one before the cursor, if there is one with room for it.
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
	if w == 2 {
		l.cells[s.x+1] = tail
	}
	s.advance(l, w, wrapped)
	s.last = c
}

// printASCII is print for characters of ASCII that are no control characters.
func (s *Screen) printASCII(p []byte) {
	if s.insert || s.drawing[s.set] {
		for _, c := range p {
			s.print(rune(c))
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
		p = p[n:]
	}
}

// advance moves the cursor over cells that were written.
func (s *Screen) advance(l *line, n int, wrapped bool) {
	if s.x == 0 {
		l.continued = wrapped
	}
	s.x += n
	if s.x == s.columns {
		s.x, s.pending = s.columns-1, s.autowrap
	}
}

// wrap goes to the next row if there is no room for w cells, and reports whether the line goes on there.
func (s *Screen) wrap(w int) bool {
	if !s.autowrap {
		s.x = min(s.x, s.columns-w)
		return false
	}
	if !s.pending && s.x+w <= s.columns {
		return false
	}
	s.x = 0
	s.lines[s.y].wrapped = true // also what a wide screen left right of the last column stays in the line
	return s.index()
}

// index moves the cursor down, and scrolls at the bottom margin. It reports whether the row is another one then.
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

// scrollUp moves the rows between the margins up. What leaves the main screen at its top becomes history.
func (s *Screen) scrollUp(n int) {
	n = min(n, s.bottom-s.top+1)
	if s.top == 0 && !s.alternate {
		s.history.add(s.lines[:n])
		s.frame = false
	}
	s.takeOut(s.top, n)
}

// takeOut removes rows from one on, moves up the others down to the bottom margin, and adds empty ones there.
func (s *Screen) takeOut(top, n int) {
	rows := s.lines[top : s.bottom+1]
	n = min(n, len(rows))
	resetLines(rows[:n])
	rotate(rows, n)
}

// scrollDown moves the rows from one on down to the bottom margin, and adds empty ones at the top.
func (s *Screen) scrollDown(top, n int) {
	rows := s.lines[top : s.bottom+1]
	kept := max(0, len(rows)-n)
	resetLines(rows[kept:])
	rotate(rows, kept)
}

// rotate moves the first n rows to the end.
func rotate(rows []*line, n int) {
	if n == 1 { // most often
		first := rows[0]
		copy(rows, rows[1:])
		rows[len(rows)-1] = first
		return
	}
	slices.Reverse(rows[:n])
	slices.Reverse(rows[n:])
	slices.Reverse(rows)
}

// insertLines is IL, or DL: it moves the rows from the cursor's to the bottom margin.
func (s *Screen) insertLines(n int, move func(top, n int)) {
	if s.y >= s.top && s.y <= s.bottom {
		move(s.y, n)
		s.moveTo(0, s.y)
	}
}

// scrollOff clears the screen. The text of the main one becomes history, unless it is a frame, of which a program that
// redraws would leave any number.
func (s *Screen) scrollOff() {
	if !s.alternate {
		if !s.frame {
			s.history.add(s.lines[:used(s.lines)])
		}
		s.frame = true
	}
	resetLines(s.lines)
}

// eraseDisplay is ED. What a program clears from the whole main screen may become history, which is never cleared:
// ED 3 does nothing. ED 0 erases even at the top, where progress that a program draws over and over begins.
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

// eraseLine is EL. After a line that fills the row there is nothing to erase: grep asks for it after each colour.
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

// insertCells is ICH.
func (s *Screen) insertCells(n int) {
	s.line().insert(s.x, n, s.columns)
	s.pending = false
}

// removeCells is DCH.
func (s *Screen) removeCells(n int) {
	s.line().remove(s.x, n, s.columns)
	s.pending = false
}

// eraseCells is ECH.
func (s *Screen) eraseCells(n int) {
	s.line().erase(s.x, min(s.x+n, s.columns))
	s.pending = false
}

// repeat is REP, for at most the cells of two rows, so that a short sequence does not cost a screen.
func (s *Screen) repeat(n int) {
	for range min(n, 2*s.columns) {
		if s.last != 0 {
			s.print(s.last)
		}
	}
}

// showAlternate changes between the main screen and the alternate one, which is empty each time.
func (s *Screen) showAlternate(on bool) {
	if s.alternate == on {
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
