package screen

// Control characters and escape sequences. Those without an entry in this file have no effect.

func (s *Screen) execute(c byte) {
	switch c {
	case '\b':
		s.moveTo(s.x-1, s.y)
	case '\t':
		s.tab()
	case '\n', '\v', '\f':
		if s.flow != nil { // a pipe has no line discipline that adds CR
			s.x, s.last = 0, 0
		}
		s.index()
	case '\r':
		s.moveTo(0, s.y)
	case 0x0e, 0x0f: // SO, SI
		s.set = int(0x0f - c)
	}
}

// escapeSequence executes the sequence of ESC and the byte c.
func (s *Screen) escapeSequence(c byte) {
	switch c {
	case '7': // DECSC
		s.saved = s.cursor
	case '8': // DECRC
		s.restore()
	case 'D': // IND
		s.index()
	case 'E': // NEL
		s.moveTo(0, s.y)
		s.index()
	case 'H': // HTS
		s.tabs[s.x] = true
	case 'M': // RI
		s.reverseIndex()
	case 'c': // RIS
		s.reset()
	}
}

// designate assigns a character set to G0 or G1. It treats every set except line drawing as ASCII.
func (s *Screen) designate(intermediate, c byte) {
	if set := int(intermediate) - '('; set == 0 || set == 1 {
		s.drawing[set] = c == '0'
	}
}

func (s *Screen) controlSequence(final byte, q *sequence) {
	switch {
	case q.intermediate == '!' && final == 'p' && q.prefix == 0: // DECSTR
		s.softReset()
	case q.intermediate != 0:
	case q.prefix == 0:
		if f := controls[final]; f != nil {
			f(s, q)
		}
	case q.prefix == '?':
		if f := privateControls[final]; f != nil {
			f(s, q)
		}
	}
}

// controls are the CSI sequences, by their final byte. The screen bounds their counts: a sequence touches at most each
// row once, or the cells of one row. REP touches the cells of two rows.
var controls = [128]func(*Screen, *sequence){
	'@': func(s *Screen, q *sequence) { s.moveCells(q.argument(0, 1), (*line).insert) },         // ICH
	'A': func(s *Screen, q *sequence) { s.moveVertically(-q.argument(0, 1)) },                   // CUU
	'B': func(s *Screen, q *sequence) { s.moveVertically(q.argument(0, 1)) },                    // CUD
	'C': func(s *Screen, q *sequence) { s.moveTo(s.x+q.argument(0, 1), s.y) },                   // CUF
	'D': func(s *Screen, q *sequence) { s.moveTo(s.x-q.argument(0, 1), s.y) },                   // CUB
	'E': func(s *Screen, q *sequence) { s.moveVertically(q.argument(0, 1)); s.x = 0 },           // CNL
	'F': func(s *Screen, q *sequence) { s.moveVertically(-q.argument(0, 1)); s.x = 0 },          // CPL
	'G': func(s *Screen, q *sequence) { s.moveTo(q.argument(0, 1)-1, s.y) },                     // CHA
	'H': func(s *Screen, q *sequence) { s.place(q.argument(1, 1)-1, q.argument(0, 1)-1) },       // CUP
	'I': func(s *Screen, q *sequence) { s.moveTabs(q.argument(0, 1), 1, s.columns-1) },          // CHT
	'J': func(s *Screen, q *sequence) { s.eraseDisplay(q.argument(0, 0)) },                      // ED
	'K': func(s *Screen, q *sequence) { s.eraseLine(q.argument(0, 0)) },                         // EL
	'L': func(s *Screen, q *sequence) { s.insertLines(q.argument(0, 1), s.scrollDown) },         // IL
	'M': func(s *Screen, q *sequence) { s.insertLines(q.argument(0, 1), s.takeOut) },            // DL
	'P': func(s *Screen, q *sequence) { s.moveCells(q.argument(0, 1), (*line).remove) },         // DCH
	'S': func(s *Screen, q *sequence) { s.scrollUp(q.argument(0, 1)) },                          // SU
	'T': func(s *Screen, q *sequence) { s.scrollDown(s.top, q.argument(0, 1)) },                 // SD
	'X': func(s *Screen, q *sequence) { s.eraseCells(q.argument(0, 1)) },                        // ECH
	'Z': func(s *Screen, q *sequence) { s.moveTabs(q.argument(0, 1), -1, 0) },                   // CBT
	'`': func(s *Screen, q *sequence) { s.moveTo(q.argument(0, 1)-1, s.y) },                     // HPA
	'a': func(s *Screen, q *sequence) { s.moveTo(s.x+q.argument(0, 1), s.y) },                   // HPR
	'b': func(s *Screen, q *sequence) { s.repeat(q.argument(0, 1)) },                            // REP
	'd': func(s *Screen, q *sequence) { s.place(s.x, q.argument(0, 1)-1) },                      // VPA
	'e': func(s *Screen, q *sequence) { s.moveTo(s.x, s.y+q.argument(0, 1)) },                   // VPR, beyond margins
	'f': func(s *Screen, q *sequence) { s.place(q.argument(1, 1)-1, q.argument(0, 1)-1) },       // HVP
	'g': func(s *Screen, q *sequence) { s.clearTabs(q.argument(0, 0)) },                         // TBC
	'h': func(s *Screen, q *sequence) { s.setInsert(q, true) },                                  // SM
	'l': func(s *Screen, q *sequence) { s.setInsert(q, false) },                                 // RM
	'r': func(s *Screen, q *sequence) { s.setMargins(q.argument(0, 1), q.argument(1, s.rows)) }, // DECSTBM
	's': func(s *Screen, _ *sequence) { s.saved = s.cursor },                                    // SCOSC
	'u': func(s *Screen, _ *sequence) { s.restore() },                                           // SCORC
}

// privateControls are the sequences that begin with "CSI ?", by their final byte.
var privateControls = [128]func(*Screen, *sequence){
	'J': controls['J'],                                                // DECSED, but no character is protected
	'K': controls['K'],                                                // DECSEL
	'h': func(s *Screen, q *sequence) { s.setPrivateModes(q, true) },  // DECSET
	'l': func(s *Screen, q *sequence) { s.setPrivateModes(q, false) }, // DECRST
}

func (s *Screen) setInsert(q *sequence, on bool) {
	for _, mode := range q.arguments {
		if mode == 4 { // IRM
			s.insert = on
		}
	}
}

func (s *Screen) setPrivateModes(q *sequence, on bool) {
	for _, mode := range q.arguments {
		switch mode {
		case 6: // DECOM
			s.origin = on
			s.place(0, 0)
		case 7: // DECAWM
			on = on || s.flow != nil // otherwise text would be lost
			s.autowrap, s.pending = on, s.pending && on
		case 47, 1047:
			s.showAlternate(on)
		case 1048:
			if on {
				s.saved = s.cursor
			} else {
				s.restore()
			}
		case 1049:
			s.switchWithCursor(on)
		}
	}
}

// softReset implements DECSTR, and sets the initial state of a new screen. It does not change the text.
func (s *Screen) softReset() {
	s.top, s.bottom = 0, s.rows-1
	s.origin, s.insert, s.autowrap = false, false, true
	s.drawing, s.set = [2]bool{}, 0
	s.saved = cursor{}
}

// reset implements RIS. The text of the main screen scrolls off.
func (s *Screen) reset() {
	s.showAlternate(false)
	s.scrollOff()
	s.softReset()
	s.resetTabs()
	s.cursor, s.hiddenSaved, s.last = cursor{}, cursor{}, 0
}
