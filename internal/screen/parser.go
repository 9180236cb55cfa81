package screen

// From bytes to characters, and from characters to what a terminal is asked to do: ECMA-48, and the strings of xterm. A
// sequence is dealt with as display.StripANSI does, which shows the same text to a person. A string (OSC, DCS, SOS, PM,
// APC) is dropped as it comes. ESC ends it, and so do ST, CAN and SUB; OSC also ends at BEL and before a line end, so
// that a title which is cut off hides no more than its line. A string of another kind that never ends hides all that
// follows, as on a terminal.

import "unicode/utf8"

const (
	esc         = 0x1b
	maxArgs     = 16   // of a sequence; more are dropped
	maxArgument = 9999 // larger ones are taken for it
)

// state is where the input is in a sequence.
type state int

const (
	ground       state = iota
	escape             // after ESC, with intermediate bytes or not
	control            // in a CSI sequence
	oscString          // OSC
	hiddenString       // DCS, SOS, PM, APC
)

// parser is what is kept of the input. The zero value is ready.
type parser struct {
	held      [utf8.UTFMax]byte // an unfinished character
	heldBytes int

	state          state
	sequence       sequence
	carriageReturn bool // was the last character, in an OSC
}

// sequence is what has come of a sequence.
type sequence struct {
	prefix, intermediate byte // 0 if there is none
	arguments            [maxArgs]int
	last                 int // the argument that digits belong to
	odd                  bool
}

// argument returns an argument, or what stands for a missing one and for 0.
func (q *sequence) argument(i, missing int) int {
	if n := q.arguments[i]; n > 0 {
		return n
	}
	return missing
}

func (s *Screen) write(p []byte) {
	for s.heldBytes > 0 && len(p) > 0 {
		s.held[s.heldBytes] = p[0]
		s.heldBytes, p = s.heldBytes+1, p[1:]
		for s.heldBytes > 0 && utf8.FullRune(s.held[:s.heldBytes]) {
			c, size := utf8.DecodeRune(s.held[:s.heldBytes])
			copy(s.held[:], s.held[size:s.heldBytes])
			s.heldBytes -= size
			s.next(c)
		}
	}
	for len(p) > 0 {
		if s.takesRuns() { // first: else each byte of a sequence would look at all that follow
			if n := plainPrefix(p); n > 0 {
				s.run(p[:n])
				p = p[n:]
				continue
			}
		}
		c, size := rune(p[0]), 1
		if c >= utf8.RuneSelf {
			if !utf8.FullRune(p) {
				s.heldBytes = copy(s.held[:], p)
				return
			}
			c, size = utf8.DecodeRune(p)
		}
		s.next(c)
		p = p[size:]
	}
}

// plainPrefix is how many characters of ASCII there are before the first control character or other byte.
func plainPrefix(p []byte) int {
	for i, c := range p {
		if c-0x20 >= 0x5f { // below 0x20, too
			return i
		}
	}
	return len(p)
}

// takesRuns reports whether all ASCII characters that follow are text, or part of a string.
func (s *Screen) takesRuns() bool { return s.state != escape && s.state != control }

func (s *Screen) run(p []byte) {
	if s.state == ground {
		s.printASCII(p)
	}
	s.carriageReturn = false
}

// next takes a character.
func (s *Screen) next(c rune) {
	switch {
	case c == 0x18 || c == 0x1a: // CAN, SUB
		s.state = ground
	case c == esc:
		s.state, s.sequence = escape, sequence{}
	case c >= 0x80 && c < 0xa0: // C1
		s.introduce(byte(c) - 0x40)
	case s.state == hiddenString:
	case s.state == oscString:
		s.inOSC(c)
	case c < 0x20: // has its effect in the middle of a sequence
		s.execute(byte(c))
	case c == 0x7f:
	case s.state == ground || c >= 0x80: // no sequence has it
		s.state = ground
		s.print(c)
	case s.state == escape:
		s.inEscape(byte(c))
	default:
		s.inControl(byte(c))
	}
}

// inOSC ends the string before a line end, which is CR LF on a PTY, and else drops the character.
func (s *Screen) inOSC(c rune) {
	switch {
	case c == '\a':
		s.state = ground
	case c == '\n':
		s.state = ground
		if s.carriageReturn {
			s.execute('\r')
		}
		s.execute('\n')
	}
	s.carriageReturn = c == '\r'
}

func (s *Screen) inEscape(c byte) {
	switch {
	case c < 0x30:
		s.sequence.intermediate = c
	case s.sequence.intermediate == 0:
		s.introduce(c)
	default:
		s.state = ground
		s.designate(s.sequence.intermediate, c)
	}
}

// introduce takes the byte after ESC, or that of a control character which stands for both.
func (s *Screen) introduce(c byte) {
	switch c {
	case '[':
		s.state, s.sequence = control, sequence{}
	case ']':
		s.state, s.carriageReturn = oscString, false
	case 'P', 'X', '^', '_':
		s.state = hiddenString
	default:
		s.state = ground
		s.escapeSequence(c)
	}
}

// inControl takes a byte of a CSI sequence.
func (s *Screen) inControl(c byte) {
	q := &s.sequence
	switch {
	case c >= 0x40:
		s.state = ground
		if !q.odd {
			s.controlSequence(c, q)
		}
	case c < 0x30:
		q.odd = q.odd || q.intermediate != 0
		q.intermediate = c
	case c >= '<':
		q.odd = q.odd || q.prefix != 0
		q.prefix = c
	case c == ';':
		q.last++
	case c == ':': // only colours have those
		q.odd = true
	case q.last < maxArgs:
		n := &q.arguments[q.last]
		*n = min(*n*10+int(c-'0'), maxArgument)
	}
}
