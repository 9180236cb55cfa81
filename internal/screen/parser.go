package screen

// Parsing of bytes into characters and escape sequences, according to ECMA-48, with xterm's strings. The parser handles
// a sequence as display.StripANSI does, which shows the same text to the user. It drops strings (OSC, DCS, SOS, PM,
// APC) as they arrive. ESC, ST, CAN and SUB end a string. An OSC also ends at BEL and before a line end, so that a
// truncated title hides only the rest of its line. Any other string without an end hides all text after it, as on a
// terminal.

import "unicode/utf8"

const (
	esc         = 0x1b
	maxArgs     = 16   // maximum number of arguments of a sequence; more are dropped
	maxArgument = 9999 // larger arguments are reduced to this
)

type state int

const (
	ground       state = iota
	escape             // after ESC and any intermediate bytes
	control            // in a CSI sequence
	oscString          // OSC
	hiddenString       // DCS, SOS, PM, APC
)

// parser is the parser's state between bytes. The zero value is ready to use.
type parser struct {
	held      [utf8.UTFMax]byte // an unfinished character
	heldBytes int

	state          state
	sequence       sequence
	carriageReturn bool // in an OSC, the last character was CR
}

type sequence struct {
	prefix, intermediate byte // or 0
	arguments            [maxArgs]int
	last                 int // index of the argument being read
	odd                  bool
}

// argument returns the argument i. If it is absent or 0, argument returns missing.
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
			s.next(c, size)
		}
	}
	for len(p) > 0 {
		if s.state != escape && s.state != control { // otherwise each byte of a sequence would scan all following bytes
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
		s.next(c, size)
		p = p[size:]
	}
}

// plainPrefix returns the number of ASCII characters before the first control character or non-ASCII byte.
func plainPrefix(p []byte) int {
	for i, c := range p {
		if c-0x20 >= 0x5f { // also true below 0x20
			return i
		}
	}
	return len(p)
}

func (s *Screen) run(p []byte) {
	if s.state == ground {
		s.printASCII(p)
	} else {
		s.at += int64(len(p))
	}
	s.carriageReturn = false
}

// next handles one character of size bytes.
func (s *Screen) next(c rune, size int) {
	if s.flow == nil {
		s.handle(c, size)
		return
	}
	s.flow.before(s, c, size)
	s.handle(c, size)
	s.flow.after(s)
}

func (s *Screen) handle(c rune, size int) {
	s.at += int64(size)
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
	case c < 0x20: // takes effect even inside a sequence
		s.execute(byte(c))
	case c == 0x7f:
	case s.state == ground || c >= 0x80: // c >= 0x80 cannot be part of a sequence
		s.state = ground
		s.at -= int64(size) // a full row ends before c
		s.print(c)
		s.at += int64(size)
	case s.state == escape:
		s.inEscape(byte(c))
	default:
		s.inControl(byte(c))
	}
}

// inOSC handles a character in an OSC string. BEL ends the string. A line end, which is CR LF on a PTY, also ends
// it, and is then executed. All other characters are dropped.
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

// introduce handles the byte after ESC, or the equivalent byte of a C1 control character.
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

// inControl handles a byte of a CSI sequence.
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
	case c == ':': // only used for colours
		q.odd = true
	case q.last < maxArgs:
		n := &q.arguments[q.last]
		*n = min(*n*10+int(c-'0'), maxArgument)
	}
}
