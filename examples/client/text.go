package main

// Text of agents and commands as lines that cannot steer the person's terminal. All output of commands goes through
// this, so text that needs no change, which is most, is not looked at character by character: harmless returns it as it
// is after a look at its bytes, and appendLines copies whole lines unless they go to a terminal.

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

// minRow is the least width of a text after the prefix, on a terminal with fewer columns.
const minRow = 4

// appendLines appends text with the prefix before each line; before the first only if column is 0, where a line begins.
// With a width, a longer line becomes several rows: the terminal would begin a row with text from the middle of the
// line. It returns the column where the text ends.
func appendLines(to []byte, prefix, text string, column, width int) (appended []byte, end int) {
	for line := range strings.Lines(text) {
		if column == 0 {
			to, column = append(to, prefix...), len(prefix)
		}
		to, column = appendRows(to, prefix, line, column, width)
	}
	return to, column
}

// goesOn follows the prefix in all rows of a line but the first.
const goesOn = "| "

// appendRows appends a line that goes on at a column, as rows. Each row but the first begins with the prefix and goesOn,
// without the colours of the line.
func appendRows(to []byte, prefix, line string, column, width int) (rows []byte, end int) {
	if width == 0 {
		to, column = append(to, line...), column+len(line)
	} else {
		width = max(width, len(prefix)+len(goesOn)+minRow)
		colours := ""
		for size := 0; line != ""; line = line[size:] {
			if size = strings.IndexByte(line, 'm') + 1; line[0] == '\x1b' && size > 0 {
				colours = line[:size]
				to = append(to, colours...)
				continue
			}
			var r rune
			r, size = utf8.DecodeRuneInString(line)
			if column+columns(r, column) > width {
				if colours != "" {
					to = append(to, noColours...)
				}
				to = append(append(append(append(to, '\n'), prefix...), goesOn...), colours...)
				column = len(prefix) + len(goesOn)
			}
			to, column = append(to, line[:size]...), column+columns(r, column)
		}
	}
	if to[len(to)-1] == '\n' {
		column = 0
	}
	return to, column
}

// noColours ends the colours that a display.ANSIStripper has left.
const noColours = "\x1b[m"

// columns returns the most columns that a terminal uses for a character at a column. Terminals and fonts differ; too
// large a number only makes a row shorter.
func columns(r rune, at int) int {
	switch {
	case r == '\n':
		return 0
	case r == '\t':
		return 8 - at%8
	case r < 0x1100, r >= 0x2000 && r < 0x2300, r >= 0x2500 && r < 0x25a0: // alphabets; dashes, arrows, boxes
		return 1
	}
	return 2
}
