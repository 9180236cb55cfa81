package screen

// The cursor: movements, margins, tab stops, and saving and restoring.

// moveTo moves the cursor, but not beyond the screen.
func (s *Screen) moveTo(x, y int) {
	s.x, s.y, s.pending = clamp(x, 0, s.columns-1), clamp(y, 0, s.rows-1), false
}

// moveVertically moves the cursor by n rows, but not beyond a margin.
func (s *Screen) moveVertically(n int) {
	s.breakFlow()
	first, last := 0, s.rows-1
	if s.y >= s.top {
		first = s.top
	}
	if s.y <= s.bottom {
		last = s.bottom
	}
	s.moveTo(s.x, clamp(s.y+n, first, last))
}

// place moves the cursor. In origin mode, y is relative to the top margin.
func (s *Screen) place(x, y int) {
	s.breakFlow()
	if s.origin {
		y = min(y+s.top, s.bottom)
	}
	s.moveTo(x, y)
}

// setMargins implements DECSTBM. Row numbers start at 1.
func (s *Screen) setMargins(top, bottom int) {
	if bottom = min(bottom, s.rows); top < bottom {
		s.top, s.bottom = top-1, bottom-1
		s.place(0, 0)
	}
}

// restore implements DECRC. The size may have changed since DECSC.
func (s *Screen) restore() {
	s.cursor = s.saved
	s.y = min(s.y, s.rows-1)
}

// switchWithCursor shows the alternate screen, or shows the main screen and restores its cursor.
func (s *Screen) switchWithCursor(alternate bool) {
	if s.alternate == alternate {
		return
	}
	if alternate {
		s.saved = s.cursor
	}
	s.showAlternate(alternate)
	if !alternate {
		s.restore()
	}
}

// tab implements HT. In the last column it writes a blank, because no tab stop follows. Without the blank, the text
// before and after the tab would join when the row wraps.
func (s *Screen) tab() {
	if s.flow != nil {
		s.keepTab()
		return
	}
	if s.x == s.columns-1 && (s.pending || s.line().cells[s.x] == 0) {
		s.put(' ', 1)
		return
	}
	s.moveTabs(1, 1, s.columns-1)
}

// moveTabs moves the cursor by n tab stops in the direction step, 1 or -1, but not beyond the column last.
func (s *Screen) moveTabs(n, step, last int) {
	x := s.x
	for ; n > 0 && x != last; n-- {
		for x += step; x != last && !s.tabs[x]; x += step {
		}
	}
	s.moveTo(x, s.y)
}

// clearTabs implements TBC.
func (s *Screen) clearTabs(what int) {
	switch what {
	case 0:
		s.tabs[s.x] = false
	case 3:
		s.tabs = [maxSize]bool{}
	}
}

func (s *Screen) resetTabs() {
	for x := range s.tabs {
		s.tabs[x] = x%8 == 0
	}
}
