package display

// Output without the sequences that steer a terminal.

import (
	"slices"
	"strings"
)

// StripANSI returns text without the escape sequences of terminals (ECMA-48): colours and cursor movements (CSI),
// titles and hyperlinks (OSC), other strings (DCS, SOS, PM, APC), two-byte sequences, and all of those in the form with
// a control character of C1, U+0080 to U+009F, which are left out too. What a hyperlink shows stays.
//
// A sequence that is not finished at the end is left out. A string hides all up to its end, as on a terminal, but OSC,
// which BEL ends too, also ends before a line end. Other control characters stay, also carriage returns and backspaces:
// what a program writes over itself comes one after the other. Visible escapes those.
//
// Valid UTF-8 stays valid. The byte C2 where no character follows becomes U+FFFD, and is left out at the end; other
// bytes that are not UTF-8 stay.
func StripANSI(text string) string { return new(ANSIStripper).Strip(text) }

// ANSIStripper is StripANSI for text that comes in chunks, cut anywhere. The zero value is ready. Its method may not be
// called concurrently.
type ANSIStripper struct {
	// KeepColours keeps colours and attributes such as bold (SGR), except for blinking and concealed text: as sequences
	// of the stripper's own, in such a way that each line of what Strip returns, and its end, is without any. So text
	// may be put before each line, and after each chunk. A command may still choose the background's colour for text.
	KeepColours bool

	state ansiState
	led   bool // the last byte was ansiLead, which has not been dealt with

	// With KeepColours.
	parameters []byte // of the control sequence that was begun
	style      style  // of the text that follows
	styled     bool   // what has been written since the last reset has the style
}

// ansiState is where a text is in a sequence.
type ansiState int

const (
	ansiText   ansiState = iota
	ansiEscape           // after ESC, with intermediate bytes or not
	ansiCSI
	ansiOSC
	ansiString // DCS, SOS, PM, APC
)

const (
	esc      = 0x1b
	ansiLead = 0xc2 // the first byte of the characters of C1, and of 32 others, in UTF-8
)

// Strip returns the next chunk without sequences; of one that is not finished it leaves out the rest in the next call.
// All that it returns, put together, is StripANSI of all chunks put together, but for the colours that are kept.
func (s *ANSIStripper) Strip(chunk string) string {
	isPlain := strings.IndexByte(chunk, esc) < 0 && strings.IndexByte(chunk, ansiLead) < 0
	if isPlain && s.isText() && s.style == (style{}) {
		return chunk
	}
	var b strings.Builder
	b.Grow(len(chunk))
	for i := 0; i < len(chunk); i++ {
		if s.isText() { // most bytes are
			n := plainPrefix(chunk[i:])
			s.write(&b, chunk[i:i+n])
			if i += n; i == len(chunk) {
				break
			}
		}
		s.next(&b, chunk[i])
	}
	s.reset(&b)
	return b.String()
}

func (s *ANSIStripper) isText() bool { return s.state == ansiText && !s.led }

// plainPrefix is how many bytes there are before the first that may begin a sequence.
func plainPrefix(text string) int {
	n := 0
	for n < len(text) && text[n] != esc && text[n] != ansiLead {
		n++
	}
	return n
}

// write writes text, in the style that was set.
func (s *ANSIStripper) write(b *strings.Builder, text string) {
	if s.style == (style{}) {
		b.WriteString(text)
		return
	}
	for line := range strings.Lines(text) {
		line, ended := strings.CutSuffix(line, "\n")
		if line != "" && !s.styled {
			s.style.write(b)
			s.styled = true
		}
		b.WriteString(line)
		if ended {
			s.reset(b)
			b.WriteByte('\n')
		}
	}
}

// reset ends the style of what has been written.
func (s *ANSIStripper) reset(b *strings.Builder) {
	if s.styled {
		b.WriteString(resetStyle)
		s.styled = false
	}
}

// next takes a byte, and writes what is text.
func (s *ANSIStripper) next(b *strings.Builder, c byte) {
	if s.led {
		s.led = false
		switch {
		case c >= 0x80 && c < 0xa0:
			s.introduce(c - 0x40)
			return
		case s.state == ansiText && c >= 0xa0 && c < 0xc0:
			s.write(b, string([]byte{ansiLead, c}))
			return
		case s.state == ansiText:
			s.write(b, "\uFFFD")
		}
	}
	if c == ansiLead {
		s.led = true
		if !s.inString() {
			s.state = ansiText // no sequence has it
		}
		return
	}
	switch {
	case c == esc:
		s.state = ansiEscape
	case s.state == ansiText:
		s.write(b, string([]byte{c}))
	case c == 0x18 || c == 0x1a: // CAN, SUB
		s.state = ansiText
	case s.inString():
		if s.state == ansiOSC && (c == '\a' || c == '\n') {
			s.state = ansiText
			if c == '\n' {
				s.write(b, "\n")
			}
		}
	default:
		s.inSequence(b, c)
	}
}

func (s *ANSIStripper) inString() bool { return s.state == ansiOSC || s.state == ansiString }

// inSequence takes a byte of a sequence that is no string.
func (s *ANSIStripper) inSequence(b *strings.Builder, c byte) {
	switch {
	case c < 0x20: // has its effect in the middle of a sequence
		s.write(b, string([]byte{c}))
	case c >= 0x80: // no sequence has it
		s.state = ansiText
		s.write(b, string([]byte{c}))
	case s.state == ansiCSI:
		s.inControlSequence(b, c)
	case c >= 0x30 && c < 0x7f:
		s.introduce(c)
	}
}

// inControlSequence takes a byte of a CSI sequence.
func (s *ANSIStripper) inControlSequence(b *strings.Builder, c byte) {
	const most = 64 // parameters that are longer set no style
	switch {
	case c < 0x40 && len(s.parameters) <= most:
		s.parameters = append(s.parameters, c)
	case c >= 0x40 && c < 0x7f:
		s.state = ansiText
		isSGR := c == 'm' && len(s.parameters) <= most && !slices.ContainsFunc(s.parameters, notSGR)
		if s.KeepColours && isSGR {
			s.reset(b)
			s.style.change(string(s.parameters))
		}
	}
}

// notSGR reports whether an SGR sequence cannot have the byte: "\x1b[>4m" is something else.
func notSGR(c byte) bool { return c < '0' || c > ';' }

// introduce takes the byte after ESC, or that of a control character which stands for both.
func (s *ANSIStripper) introduce(c byte) {
	s.parameters = s.parameters[:0]
	switch c {
	case '[':
		s.state = ansiCSI
	case ']':
		s.state = ansiOSC
	case 'P', 'X', '^', '_':
		s.state = ansiString
	default:
		s.state = ansiText
	}
}
