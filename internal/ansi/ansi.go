// Package ansi removes terminal escape sequences (ECMA-48) from text that arrives in chunks. It imports nothing. Later
// chunks never change the result of earlier ones, so the result of a longer text begins with that of a shorter one.
package ansi

// A Stripper removes sequences. The zero value is ready to use. A Stripper is not safe for concurrent use.
type Stripper struct {
	state state
	led   bool // the last byte was lead, not yet processed
}

// state is the position of a text in a sequence.
type state int

const (
	text    state = iota
	escape        // after ESC and any intermediate bytes
	control       // CSI
	command       // OSC
	hidden        // DCS, SOS, PM, APC
)

const (
	esc  = 0x1b
	lead = 0xc2 // the first byte of the characters of C1, and of 32 others, in UTF-8
)

// IsPlain reports whether Append would append a chunk unchanged.
func IsPlain[T string | []byte](s *Stripper, chunk T) bool {
	return s.isText() && plainPrefix(chunk) == len(chunk)
}

// Append appends a chunk to a text, without the sequences. If a chunk ends in the middle of a sequence, the rest of the
// sequence is removed by the next call.
func Append[T string | []byte](s *Stripper, to []byte, chunk T) []byte {
	for i := 0; i < len(chunk); i++ {
		if s.isText() { // most bytes are
			n := plainPrefix(chunk[i:])
			to = append(to, chunk[i:i+n]...)
			if i += n; i == len(chunk) {
				break
			}
		}
		to = s.next(to, chunk[i])
	}
	return to
}

// Flush appends the first byte of an unfinished character, if it has been withheld because it may begin a sequence.
func (s *Stripper) Flush(to []byte) []byte {
	if s.led && s.state == text {
		s.led = false
		to = append(to, lead)
	}
	return to
}

func (s *Stripper) isText() bool { return s.state == text && !s.led }

// plainPrefix returns the number of bytes before the first that may begin a sequence.
func plainPrefix[T string | []byte](chunk T) int {
	n := 0
	for n < len(chunk) && chunk[n] != esc && chunk[n] != lead {
		n++
	}
	return n
}

// next processes a byte, and appends it if it is text.
func (s *Stripper) next(to []byte, c byte) []byte {
	if s.led {
		s.led = false
		switch {
		case c >= 0x80 && c < 0xa0:
			s.introduce(c - 0x40)
			return to
		case s.state == text && c >= 0xa0 && c < 0xc0:
			return append(to, lead, c)
		case s.state == text:
			to = append(to, "\uFFFD"...)
		}
	}
	if c == lead {
		s.led = true
		if !s.inString() {
			s.state = text // never part of a sequence
		}
		return to
	}
	switch {
	case c == esc:
		s.state = escape
	case s.state == text:
		to = append(to, c)
	case c == 0x18 || c == 0x1a: // CAN, SUB
		s.state = text
	case s.inString():
		if s.state == command && (c == '\a' || c == '\n') {
			s.state = text
			if c == '\n' {
				to = append(to, '\n')
			}
		}
	default:
		to = s.inSequence(to, c)
	}
	return to
}

func (s *Stripper) inString() bool { return s.state == command || s.state == hidden }

// inSequence processes a byte of a sequence other than a string.
func (s *Stripper) inSequence(to []byte, c byte) []byte {
	switch {
	case c < 0x20: // takes effect even within a sequence
		return append(to, c)
	case c >= 0x80: // never part of a sequence
		s.state = text
		return append(to, c)
	case s.state == control:
		if c >= 0x40 && c < 0x7f {
			s.state = text
		}
	case c >= 0x30 && c < 0x7f:
		s.introduce(c)
	}
	return to
}

// introduce processes the byte after ESC, or the equivalent of a control character that stands for both.
func (s *Stripper) introduce(c byte) {
	switch c {
	case '[':
		s.state = control
	case ']':
		s.state = command
	case 'P', 'X', '^', '_':
		s.state = hidden
	default:
		s.state = text
	}
}
