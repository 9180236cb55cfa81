package mcpserver

// Output as text for a model: without escape sequences, control characters and overwritten text.

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// plainLine returns a line, or a part of one, as a terminal would show it. Its escape sequences have been removed
// before. Text before a carriage return is overwritten by the text that follows, and a backspace takes a character
// away. Other control characters are dropped, except tabs and a line feed at the end. Each invalid byte becomes
// U+FFFD, as in acpterm.Terminal.Output.
func plainLine(line string) string {
	line, newline := strings.CutSuffix(line, "\n")
	line = strings.TrimRight(line, "\r") // of "\r\n", and of unfinished progress
	if i := strings.LastIndexByte(line, '\r'); i >= 0 {
		line = line[i+1:]
	}
	if newline {
		line += "\n"
	}
	if utf8.ValidString(line) && strings.IndexFunc(line, isDropped) < 0 {
		return line
	}
	text := make([]byte, 0, len(line))
	for _, r := range line {
		switch {
		case r == '\b':
			_, size := utf8.DecodeLastRune(text)
			text = text[:len(text)-size]
		case !isDropped(r):
			text = utf8.AppendRune(text, r)
		}
	}
	return string(text)
}

func isDropped(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }

// shorten returns text without control characters, cut to about limit bytes. The middle is cut, and the cut is marked.
func shorten(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		if isDropped(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	if len(text) <= limit {
		return text
	}
	from, to := limit/2, len(text)-limit/2
	for !utf8.RuneStart(text[from]) {
		from--
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	return text[:from] + "[…]" + text[to:]
}
