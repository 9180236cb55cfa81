package main

// Text of agents and commands as lines that cannot steer the person's terminal. All output of commands goes through
// this, so text that needs no change, which is most, is not looked at character by character: harmless returns it as it
// is after a look at its bytes, and appendLines copies whole lines.

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/acpterm/acpterm/display"
)

// controls says what harmless does with control characters, such as those of escape sequences.
type controls int

const (
	dropControls controls = iota
	escapeControls
	keepColours // dropped, but for ESC: a display.ANSIStripper has left it in colours alone
)

// harmless makes text, which is valid UTF-8, one that cannot steer the person's terminal: neither agents nor commands
// are trusted with it. Marks of direction are escaped. Control characters are escaped as well, or dropped; line ends
// and tabs stay.
func harmless(text string, c controls) string {
	n := plainPrefix(text, c)
	if n == len(text) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for {
		b.WriteString(text[:n])
		if text = text[n:]; text == "" {
			return b.String()
		}
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case unicode.IsControl(r) && c != escapeControls:
		case unicode.IsControl(r), unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp):
			b.WriteString(display.Visible(text[:size], 0))
		default:
			b.WriteRune(r)
		}
		text = text[size:]
		n = plainPrefix(text, c)
	}
}

// plainPrefix is how many bytes there are before the first that may not stay as it is. What is not ASCII stays unless
// its first byte is that of a control character (U+0080 to U+009F) or a mark of direction (U+061C, U+200E to U+2069).
func plainPrefix(text string, c controls) int {
	for i := range len(text) {
		switch b := text[i]; {
		case b >= ' ' && b != 0x7f && b != 0xc2 && b != 0xd8 && b != 0xe2, b == '\n', b == '\t':
		case b == '\x1b' && c == keepColours:
		default:
			return i
		}
	}
	return len(text)
}

// appendLines appends text with the prefix before each line; before the first only if no line was begun.
func appendLines(to []byte, prefix, text string, begun bool) []byte {
	for text != "" {
		if !begun {
			to = append(to, prefix...)
		}
		begun = false
		n := strings.IndexByte(text, '\n') + 1
		if n == 0 {
			n = len(text)
		}
		to = append(to, text[:n]...)
		text = text[n:]
	}
	return to
}
