package display

// Removal of escape sequences from output.

import (
	"context"
	"io"
	"strings"

	"github.com/acpterm/acpterm"
)

// StripANSI removes terminal escape sequences (ECMA-48) from text. This includes colours and cursor movements (CSI),
// titles and hyperlinks (OSC), other string sequences (DCS, SOS, PM, APC) and two-byte sequences. StripANSI also
// removes the C1 control characters, U+0080 to U+009F, along with any sequences that they introduce. The visible text
// of a hyperlink is kept.
//
// If the text ends with an unfinished sequence, that sequence is removed. A string sequence hides everything up to its
// terminator, just as it would on a terminal, except that an OSC sequence also ends at BEL and before a line end. All
// other control characters are kept. Note that these include carriage returns and backspaces, so if a program
// overwrites text, the result contains the original text followed by its replacement. To escape control characters, use
// Visible.
//
// If text is valid UTF-8, the result is valid as well. If a byte C2 is not followed by a continuation byte, it is
// replaced by U+FFFD or, at the end of the text, removed. All other bytes of invalid UTF-8 are kept.
func StripANSI(text string) string { return new(ANSIStripper).Strip(text) }

// An ANSIStripper removes escape sequences in the same way as StripANSI, but from text that arrives in chunks, which
// may be split anywhere. The zero value is ready to use. An ANSIStripper is not safe for concurrent use.
type ANSIStripper struct {
	state ansiState
	led   bool // the last byte was ansiLead, not yet processed
}

// ansiState is the position of a text in a sequence.
type ansiState int

const (
	ansiText   ansiState = iota
	ansiEscape           // after ESC and any intermediate bytes
	ansiCSI
	ansiOSC
	ansiString // DCS, SOS, PM, APC
)

const (
	esc      = 0x1b
	ansiLead = 0xc2 // the first byte of the characters of C1, and of 32 others, in UTF-8
)

// Strip returns the next chunk with any escape sequences removed. If a chunk ends in the middle of a sequence, the rest
// of the sequence is removed by the next call. Concatenating the results is equivalent to calling StripANSI with the
// concatenated chunks.
func (s *ANSIStripper) Strip(chunk string) string {
	isPlain := strings.IndexByte(chunk, esc) < 0 && strings.IndexByte(chunk, ansiLead) < 0
	if isPlain && s.isText() {
		return chunk
	}
	var b strings.Builder
	b.Grow(len(chunk))
	for i := 0; i < len(chunk); i++ {
		if s.isText() { // most bytes are
			n := plainPrefix(chunk[i:])
			b.WriteString(chunk[i : i+n])
			if i += n; i == len(chunk) {
				break
			}
		}
		s.next(&b, chunk[i])
	}
	return b.String()
}

func (s *ANSIStripper) isText() bool { return s.state == ansiText && !s.led }

// plainPrefix returns the number of bytes before the first that may begin a sequence.
func plainPrefix(text string) int {
	n := 0
	for n < len(text) && text[n] != esc && text[n] != ansiLead {
		n++
	}
	return n
}

// next processes a byte, and writes it if it is text.
func (s *ANSIStripper) next(b *strings.Builder, c byte) {
	if s.led {
		s.led = false
		switch {
		case c >= 0x80 && c < 0xa0:
			s.introduce(c - 0x40)
			return
		case s.state == ansiText && c >= 0xa0 && c < 0xc0:
			b.Write([]byte{ansiLead, c})
			return
		case s.state == ansiText:
			b.WriteString("\uFFFD")
		}
	}
	if c == ansiLead {
		s.led = true
		if !s.inString() {
			s.state = ansiText // never part of a sequence
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
				b.WriteByte('\n')
			}
		}
	default:
		s.inSequence(b, c)
	}
}

func (s *ANSIStripper) inString() bool { return s.state == ansiOSC || s.state == ansiString }

// inSequence processes a byte of a sequence other than a string.
func (s *ANSIStripper) inSequence(b *strings.Builder, c byte) {
	switch {
	case c < 0x20: // takes effect even within a sequence
		b.WriteByte(c)
	case c >= 0x80: // never part of a sequence
		s.state = ansiText
		b.WriteByte(c)
	case s.state == ansiCSI:
		if c >= 0x40 && c < 0x7f {
			s.state = ansiText
		}
	case c >= 0x30 && c < 0x7f:
		s.introduce(c)
	}
}

// introduce processes the byte after ESC, or the equivalent of a control character that stands for both.
func (s *ANSIStripper) introduce(c byte) {
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

// Follow copies the output of a terminal to w as it arrives. Since Follow uses an ANSIStripper, w may be the user's
// terminal. If w is slow, some of the output is skipped so that the command is not delayed. If the output of an agent's
// terminal is replaced, the new output is written after the old output. Follow returns when Terminal.Follow returns,
// when ctx is done, or when a write fails.
func Follow(ctx context.Context, w io.Writer, t *acpterm.Terminal) error {
	var text ANSIStripper
	for chunk := range t.Follow(ctx, 0) {
		if chunk.Replaced || chunk.Missed > 0 {
			text = ANSIStripper{} // an unfinished sequence does not continue here
		}
		if _, err := io.WriteString(w, text.Strip(chunk.Text)); err != nil {
			return err
		}
	}
	return ctx.Err()
}
