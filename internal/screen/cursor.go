package screen

// Where the cursor goes: movements, margins, tabs, and what is saved.

// moveTo moves the cursor inside the screen.
func (s *Screen) moveTo(x, y int) {
	s.x, s.y, s.pending = clamp(x, 0, s.columns-1), clamp(y, 0, s.rows-1), false
}

// moveVertically moves the cursor by rows, not over a margin.
func (s *Screen) moveVertically(n int) {
	first, last := 0, s.rows-1
	if s.y >= s.top {
		first = s.top
	}
	if s.y <= s.bottom {
		last = s.bottom
	}
	s.moveTo(s.x, clamp(s.y+n, first, last))
}

// place moves the cursor to a row that counts from the top margin in origin mode.
func (s *Screen) place(x, y int) {
	if s.origin {
		y = min(y+s.top, s.bottom)
	}
	s.moveTo(x, y)
}

// setMargins is DECSTBM, with rows that count from 1.
func (s *Screen) setMargins(top, bottom int) {
	if bottom = min(bottom, s.rows); top < bottom {
		s.top, s.bottom = top-1, bottom-1
		s.place(0, 0)
	}
}

// restore is DECRC. The size may have changed since.
func (s *Screen) restore() {
	s.cursor = s.saved
	s.y = min(s.y, s.rows-1)
}

func (s *Screen) saveOrRestore(save bool) {
	if save {
		s.saved = s.cursor
	} else {
		s.restore()
	}
}

// switchWithCursor shows the alternate screen, or the main one with the cursor where it was.
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

// tab is HT. In the last column no stop follows: there it is a blank, or what comes after it would stick to what was
// before it, once the row wraps.
func (s *Screen) tab() {
	if s.x == s.columns-1 && (s.pending || s.line().cells[s.x] == 0) {
		s.put(' ', 1)
		return
	}
	s.tabForward(1)
}

func (s *Screen) tabForward(n int) {
	x := s.x
	for ; n > 0 && x < s.columns-1; n-- {
		for x++; x < s.columns-1 && !s.tabs[x]; x++ {
		}
	}
	s.moveTo(x, s.y)
}

func (s *Screen) tabBackward(n int) {
	x := s.x
	for ; n > 0 && x > 0; n-- {
		for x--; x > 0 && !s.tabs[x]; x-- {
		}
	}
	s.moveTo(x, s.y)
}

// clearTabs is TBC.
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
