package display

// Output without the sequences that steer a terminal.

import "strings"

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
	state ansiState
	led   bool // the last byte was ansiLead, which has not been dealt with
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
// All that it returns, put together, is StripANSI of all chunks put together.
func (s *ANSIStripper) Strip(chunk string) string {
	if s.state == ansiText && !s.led && strings.IndexByte(chunk, esc) < 0 && strings.IndexByte(chunk, ansiLead) < 0 {
		return chunk
	}
	var b strings.Builder
	for i := range len(chunk) {
		s.next(&b, chunk[i])
	}
	return b.String()
}

// next takes a byte, and writes what is text.
func (s *ANSIStripper) next(b *strings.Builder, c byte) {
	if s.led {
		s.led = false
		switch {
		case c >= 0x80 && c < 0xa0:
			s.state = afterIntroducer(c - 0x40)
			return
		case s.state == ansiText && c >= 0xa0 && c < 0xc0:
			b.WriteByte(ansiLead)
		case s.state == ansiText:
			b.WriteString("\uFFFD")
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
		b.WriteByte(c)
	case c == 0x18 || c == 0x1a: // CAN, SUB
		s.state = ansiText
	case s.inString():
		if s.state == ansiOSC && (c == '\a' || c == '\n') {
			s.state = ansiText
			if c == '\n' {
				b.WriteByte(c)
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
		b.WriteByte(c)
	case c >= 0x80: // no sequence has it
		s.state = ansiText
		b.WriteByte(c)
	case s.state == ansiCSI:
		if c >= 0x40 && c < 0x7f {
			s.state = ansiText
		}
	case c >= 0x30 && c < 0x7f:
		s.state = afterIntroducer(c)
	}
}

// afterIntroducer is the state after ESC and a byte, or after the control character that stands for both.
func afterIntroducer(c byte) ansiState {
	switch c {
	case '[':
		return ansiCSI
	case ']':
		return ansiOSC
	case 'P', 'X', '^', '_':
		return ansiString
	}
	return ansiText
}
