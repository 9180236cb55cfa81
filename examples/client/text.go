package main

// This file turns text of agents and commands into lines that cannot steer the user's terminal. All output of commands
// passes through it. Most text needs no change, so it avoids looking at each character: harmless returns such text
// after a scan of its bytes, and appendLines copies whole lines unless they go to a terminal.
//
// columns is not the width of a library, which is exact for terminals that draw clusters of characters as it does. On
// others, a row would be too long, and the terminal would begin another with text of the agent's choice.

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/acpterm/acpterm/display"
)

// controls tells harmless how to treat control characters, such as those of escape sequences.
type controls int

const (
	dropControls controls = iota
	escapeControls
	keepColours // drop all but ESC, which a display.ANSIStripper has left in colours only
)

// harmless returns text, which must be valid UTF-8, in a form that cannot steer the user's terminal: neither agents nor
// commands are trusted. It escapes directional marks. It escapes or drops control characters, except line ends and
// tabs.
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

// plainPrefix returns the number of bytes before the first one that may have to change. Non-ASCII text stays unless its
// first byte is that of a control character (U+0080 to U+009F) or a directional mark (U+061C, U+200E to U+2069).
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

// minRow is the least width of the text after the prefix, even on a terminal with fewer columns.
const minRow = 4

// appendLines appends text with a prefix before each line. painted is the prefix with its colours. The first line gets
// it only if column is 0, the beginning of a line. If width is not 0, a longer line becomes several rows: the terminal
// would otherwise begin a row with text from the middle of the line. It returns the column where the text ends.
func appendLines(to []byte, prefix, painted, text string, column, width int) (appended []byte, end int) {
	for line := range strings.Lines(text) {
		if column == 0 {
			to, column = append(to, painted...), len(prefix)
		}
		to, column = appendRows(to, prefix, painted, line, column, width)
	}
	return to, column
}

// goesOn follows the prefix in each row of a line after the first, unless it is text that may begin any line.
const goesOn = "| "

// anyText reports whether the lines with a prefix are those of an agent or a command, so that the text of a row looks
// like that of a line in any case.
func anyText(prefix string) bool {
	return prefix == "> " || prefix == "agent: " || strings.HasSuffix(prefix, "] | ")
}

// appendRows appends line, which begins at column, as rows. Each row after the first begins with the prefix, without
// the colours of the line.
func appendRows(to []byte, prefix, painted, line string, column, width int) (rows []byte, end int) {
	if width == 0 {
		to, column = append(to, line...), column+len(line)
	} else {
		next := painted
		if !anyText(prefix) {
			next += goesOn
		}
		margin := len(prefix) + len(next) - len(painted)
		width = max(width, margin+minRow)
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
				to = append(append(append(to, '\n'), next...), colours...)
				column = margin
			}
			to, column = append(to, line[:size]...), column+columns(r, column)
		}
	}
	if to[len(to)-1] == '\n' {
		column = 0
	}
	return to, column
}

// noColours resets the colours that a display.ANSIStripper has left.
const noColours = "\x1b[m"

// columns returns the most columns that a terminal uses for a character at a column. Terminals and fonts differ, but
// too large a number only makes a row shorter.
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
