package main

// Text of agents and commands as lines for the screen, in which nothing steers the terminal.

import (
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"github.com/acpterm/acpterm/display"
)

// harmless escapes what is not shown as itself: control characters but line ends, and marks of direction.
func harmless(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		return text // nearly all lines
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\n':
			b.WriteRune(r)
		case r == '\t':
			b.WriteString("    ")
		case unicode.IsControl(r), unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp):
			b.WriteString(display.Visible(string(r), 0))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// outputLines are the lines of a command's output as a terminal shows them: a carriage return begins the line anew,
// which is how progress is shown.
func outputLines(text string) []string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range lines {
		line = strings.TrimRight(line, "\r")
		lines[i] = harmless(line[strings.LastIndexByte(line, '\r')+1:])
	}
	return lines
}

// fold breaks lines that are too long for a width, anywhere.
func fold(lines []string, width int) []string {
	var folded []string
	for _, line := range lines {
		if len(line) <= width { // no character is wider than it has bytes
			folded = append(folded, line)
			continue
		}
		folded = append(folded, strings.Split(ansi.Hardwrap(line, width, true), "\n")...)
	}
	return folded
}

// cut makes a line fit.
func cut(line string, width int) string { return ansi.Truncate(line, width, "…") }
