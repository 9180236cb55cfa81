package main

// This file turns the output of a command into lines, as a terminal shows them: a progress bar overwrites its line, so
// that only the last state of the line is printed. Most output only appends. It is passed on as it is.

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/acpterm/acpterm/display"
)

const (
	// mostUnfinished is the number of bytes kept of an unfinished line. After that, the line is printed.
	mostUnfinished = 64 << 10
	// mostColumns is the number of columns of a line if the command moves the cursor in it. The line ends after that.
	mostColumns = 4 << 10
	// mostSequence is the maximum length of an escape sequence that moves the cursor.
	mostSequence = 32
)

// lineEditor makes lines of output that comes in pieces. The zero value is ready.
type lineEditor struct {
	stripper display.ANSIStripper
	sequence string   // an unfinished escape sequence
	rest     []byte   // the unfinished line, unless the command has moved the cursor in it
	cells    []string // its columns if the command has moved the cursor in it; the second of a wide character is empty
	at       int      // the cursor: an index of cells
	moved    bool     // the line is in cells
}

// add adds a piece of output and returns the text to print: lines, which end with '\n', or a part of a very long line.
func (e *lineEditor) add(text string) (lines string) {
	text, e.sequence = cutSequence(e.sequence + text)
	if strings.IndexByte(text, '\r') >= 0 && strings.Count(text, "\r") == strings.Count(text, "\r\n") {
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	if e.moved || movesCursor(text) {
		return e.overwrite(text)
	}
	text = harmless(e.stripper.Strip(text), dropControls)
	end := strings.LastIndexByte(text, '\n') + 1
	if end > 0 {
		lines, e.rest = string(e.rest)+text[:end], e.rest[:0]
	}
	if e.rest = append(e.rest, text[end:]...); len(e.rest) > mostUnfinished {
		lines, e.rest = lines+string(e.rest), e.rest[:0]
	}
	return lines
}

// unfinished returns the line that the command has not ended yet.
func (e *lineEditor) unfinished() string {
	if e.moved {
		return strings.TrimRight(strings.Join(e.cells, ""), " ")
	}
	return string(e.rest)
}

// end returns the last line if the command has not ended it, and forgets all state.
func (e *lineEditor) end() (line string) {
	if line = e.unfinished(); line != "" {
		line += "\n"
	}
	*e = lineEditor{}
	return line
}

// cutSequence cuts an unfinished control sequence off the end of a text.
func cutSequence(text string) (whole, sequence string) {
	begin := strings.LastIndexByte(text[max(0, len(text)-mostSequence):], '\x1b')
	if begin < 0 {
		return text, ""
	}
	begin += max(0, len(text)-mostSequence)
	if _, _, ok := controlSequence(text[begin:]); ok || begin+1 < len(text) && text[begin+1] != '[' {
		return text, ""
	}
	return text[:begin], strings.Clone(text[begin:])
}

// controlSequence returns the parameters and the final byte of a control sequence at the beginning of a text.
func controlSequence(text string) (parameters string, final byte, ok bool) {
	if !strings.HasPrefix(text, "\x1b[") {
		return "", 0, false
	}
	for i := 2; i < len(text); i++ {
		if c := text[i]; c < 0x20 || c > 0x3f {
			return text[2:i], c, true
		}
	}
	return "", 0, false
}

// movesCursor reports whether the text moves the cursor to the left or erases there.
func movesCursor(text string) bool {
	if strings.IndexByte(text, '\r') >= 0 || strings.IndexByte(text, '\b') >= 0 {
		return true
	}
	for {
		begin := strings.IndexByte(text, '\x1b')
		if begin < 0 {
			return false
		}
		text = text[begin:]
		parameters, final, _ := controlSequence(text)
		switch final {
		case 'G', '`', 'D':
			return true
		case 'K':
			if parameters != "" && parameters != "0" {
				return true
			}
		}
		text = text[1+len(parameters):]
	}
}

// overwrite adds output to cells.
func (e *lineEditor) overwrite(text string) (lines string) {
	var b strings.Builder
	if !e.moved {
		e.moved = true
		e.put(&b, string(e.rest))
		e.rest = e.rest[:0]
	}
	for text != "" {
		n := 1
		switch text[0] {
		case '\n':
			e.stripper.Strip("\n") // which ends some sequences
			e.endLine(&b)
		case '\r':
			e.at = 0
		case '\b':
			e.at = max(0, e.at-1)
		case '\t':
			e.at = min(e.at+8-e.at%8, mostColumns-1)
		case '\x1b':
			parameters, final, ok := controlSequence(text)
			if ok {
				n = len("\x1b[") + len(parameters)
				e.move(parameters, final)
			}
			if '@' <= final && final <= '~' { // otherwise it is other text
				n++
			}
			e.put(&b, e.stripper.Strip(text[:n]))
		default:
			if n = strings.IndexAny(text, "\n\r\b\t\x1b"); n < 0 {
				n = len(text)
			}
			e.put(&b, harmless(e.stripper.Strip(text[:n]), dropControls))
		}
		text = text[n:]
	}
	if e.at == 0 && len(e.cells) == 0 {
		e.moved = false
	}
	return b.String()
}

// endLine ends the line in cells.
func (e *lineEditor) endLine(b *strings.Builder) {
	b.WriteString(strings.TrimRight(strings.Join(e.cells, ""), " "))
	b.WriteByte('\n')
	e.cells, e.at = e.cells[:0], 0
}

// move obeys a control sequence that concerns the line.
func (e *lineEditor) move(parameters string, final byte) {
	n := 0
	for _, c := range []byte(parameters) {
		if c < '0' || c > '9' {
			return
		}
		n = min(n*10+int(c-'0'), mostColumns)
	}
	switch final {
	case 'G', '`':
		e.at = min(max(n, 1), mostColumns) - 1
	case 'C':
		e.at = min(e.at+max(n, 1), mostColumns-1)
	case 'D':
		e.at = max(0, e.at-max(n, 1))
	case 'K':
		switch n {
		case 0:
			e.cells = e.cells[:min(e.at, len(e.cells))]
		case 1:
			for i := range e.cells[:min(e.at+1, len(e.cells))] {
				e.cells[i] = " "
			}
		case 2:
			e.cells = e.cells[:0]
		}
	}
}

// put writes harmless text at the cursor.
func (e *lineEditor) put(b *strings.Builder, text string) {
	for text != "" {
		character, width := ansi.FirstGraphemeCluster(text, ansi.GraphemeWidth)
		text = text[len(character):]
		if character == "\t" { // in a line from before the cursor was moved
			e.at = min(e.at+8-e.at%8, mostColumns-1)
			continue
		}
		if width == 0 { // it belongs to the character before
			if before := e.at - 1; before >= 0 && before < len(e.cells) && len(e.cells[before]) < mostSequence {
				e.cells[before] += character
			}
			continue
		}
		if e.at+width > mostColumns {
			e.endLine(b)
		}
		e.place(character, width)
	}
}

// place writes a character at the cursor. If it covers half of a wide one, the other half becomes a blank.
func (e *lineEditor) place(character string, width int) {
	for len(e.cells) < e.at+width {
		e.cells = append(e.cells, " ")
	}
	if e.at > 0 && e.cells[e.at] == "" {
		e.cells[e.at-1] = " "
	}
	clear(e.cells[e.at : e.at+width])
	e.cells[e.at] = character
	e.at += width
	for i := e.at; i < len(e.cells) && e.cells[i] == ""; i++ {
		e.cells[i] = " "
	}
}
