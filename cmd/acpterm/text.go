package main

// This file turns text of agents and commands into lines that cannot steer the user's terminal. All output of commands
// passes through it. Most text needs no change, so it avoids looking at each character: harmless returns such text
// after a scan of its bytes, and rows copies whole lines unless they go to a terminal.
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
)

// harmless returns text, which must be valid UTF-8, in a form that cannot steer the user's terminal: neither agents nor
// commands are trusted. It escapes directional marks. It escapes or drops control characters, except line ends and
// tabs.
func harmless(text string, c controls) string {
	n := plainPrefix(text)
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
		n = plainPrefix(text)
	}
}

// mayChange has the bytes that may begin a changed character: control characters, which include U+0080 to U+009F, and
// directional marks (U+061C, U+200E to U+2069).
var mayChange = func() (all [256]bool) {
	for b := range all {
		all[b] = b < ' ' && b != '\n' && b != '\t' || b == 0x7f || b == 0xc2 || b == 0xd8 || b == 0xe2
	}
	return all
}()

// plainPrefix returns the number of bytes before the first one that may have to change.
func plainPrefix(text string) int {
	for i := range len(text) {
		if mayChange[text[i]] {
			return i
		}
	}
	return len(text)
}

// minRow is the least width of the text after the prefix, even on a terminal with fewer columns.
const minRow = 4

// goesOn follows the prefix in each row of a line after the first, unless any text may begin a line.
const goesOn = "| "

// rows lays out lines. On a terminal, a longer line becomes several rows: the terminal would otherwise begin a row with
// text from the middle of the line.
type rows struct {
	to      []byte // the text so far
	shown   int    // how much of it a terminal shows already; 0 if all of it has to be written
	prefix  string // begins each line
	painted string // the same with its colours
	column  int    // where the text ends: 0 is the beginning of a line
	width   int    // of the terminal, or 0
}

// add adds lines, or parts of them.
func (r *rows) add(text string) {
	for line := range strings.Lines(text) {
		if r.column == 0 {
			r.to, r.column = append(r.to, r.painted...), len(r.prefix)
		}
		r.addLine(line)
		if line[len(line)-1] == '\n' {
			r.column = 0
		}
	}
}

// addLine adds a line as rows. Rows after the first begin with the prefix, without the colours of the line. Output and
// questions are broken at any character, and other text between words. Only messages lose spaces there: commands are
// shown exactly.
func (r *rows) addLine(line string) {
	if r.width == 0 {
		r.to, r.column = append(r.to, line...), r.column+len(line)
		return
	}
	message := r.prefix == "> "
	words := !r.isOutput() && r.prefix != "? " && strings.IndexByte(line, '\x1b') < 0
	next := r.painted
	if !r.isOutput() && !message && r.prefix != "agent: " { // agents do not choose how other lines begin
		next += goesOn
	}
	margin := len(r.prefix) + len(next) - len(r.painted)
	width := max(r.width, margin+minRow)
	colours := ""
	for size := 0; line != ""; line = line[size:] {
		if size = strings.IndexByte(line, 'm') + 1; line[0] == '\x1b' && size > 0 {
			colours = line[:size]
			r.to = append(r.to, colours...)
			continue
		}
		var c rune
		c, size = utf8.DecodeRuneInString(line)
		n := columns(c, r.column)
		switch over := c != '\n' && r.column+n > width; {
		case over && message && c == ' ':
			r.column = width + 1 // the next word begins a row
			continue
		case over && words && n == 1 && c != ' ' && r.column <= width:
			r.moveWord(next, margin)
		case over:
			r.breakRow(next, colours, "", margin)
		}
		r.to, r.column = append(r.to, line[:size]...), r.column+columns(c, r.column)
	}
}

// isOutput reports whether the lines are the output of a command.
func (r *rows) isOutput() bool { return strings.HasSuffix(r.prefix, "] | ") }

// moveWord begins a row with the last word, unless the word fills the row that it is in.
func (r *rows) moveWord(next string, margin int) {
	size, used := 0, 0
	for { // to the space after the prefix, at most
		c, n := utf8.DecodeLastRune(r.to[:len(r.to)-size])
		if c == ' ' || columns(c, 0) != 1 {
			break
		}
		size, used = size+n, used+1
	}
	if r.column-used <= margin {
		size, used = 0, 0
	}
	word := string(r.to[len(r.to)-size:])
	if r.to = r.to[:len(r.to)-size]; len(r.to) < r.shown {
		r.to, r.shown = append(r.to, strings.Repeat(" ", used)...), 0
	}
	r.breakRow(next, "", word, margin+used)
}

// breakRow begins a row with text that ends at a column.
func (r *rows) breakRow(next, colours, text string, column int) {
	if colours != "" {
		r.to = append(r.to, noColours...)
	}
	r.to, r.column = append(append(append(append(r.to, '\n'), next...), colours...), text...), column
}

// noColours resets colours.
const noColours = "\x1b[m"

// columns returns the most columns that a terminal uses for a character at a column. Terminals and fonts differ, but
// too large a number only makes a row shorter.
func columns(r rune, at int) int {
	switch {
	case r == '\n':
		return 0
	case r == '\t':
		return 8 - at%8
	case r < 0x1100, r >= 0x2000 && r < 0x2300, r >= 0x2500 && r < 0x25fd, r >= 0x2800 && r < 0x2900:
		return 1 // alphabets; dashes, arrows; boxes, bars, squares; dots of spinners and bars
	case r >= 0x2713 && r < 0x2719, r == 0x276f, r == 0x279c:
		return 1 // ticks and crosses, prompts
	}
	return 2
}
