package main

// This file turns text of agents and commands into lines that cannot steer the terminal.

import (
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"github.com/acpterm/acpterm/display"
)

// harmless escapes characters that are invisible or steer the terminal: control characters except line ends, and
// directional marks.
func harmless(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		return text // nearly all lines
	}
	var b strings.Builder
	column := 0
	for _, r := range text {
		shown := string(r)
		switch {
		case r == '\n':
			column = 0
		case r == '\t':
			shown = strings.Repeat(" ", 8-column%8)
		case unicode.IsControl(r), unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp):
			shown = display.Visible(shown, 0)
		}
		b.WriteString(shown)
		column += ansi.StringWidth(shown)
	}
	return b.String()
}

// outputLines returns the lines of a command's output as a terminal shows them. A carriage return restarts the line, as
// progress displays do.
func outputLines(text string) []string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range lines {
		line = strings.TrimRight(line, "\r")
		lines[i] = harmless(line[strings.LastIndexByte(line, '\r')+1:])
	}
	return lines
}

// fold breaks lines longer than width, at any character.
func fold(lines []string, width int) []string {
	var folded []string
	for _, line := range lines {
		if len(line) <= width { // no character has more columns than bytes
			folded = append(folded, line)
			continue
		}
		folded = append(folded, strings.Split(ansi.Hardwrap(line, width, true), "\n")...)
	}
	return folded
}

// tailBytes is how much text lastLines reads.
const tailBytes = 4096

// lastLines returns the last lines of a command's output, at most n, broken to width. Blank lines at the end do not
// count.
func lastLines(text string, n, width int) []string {
	lines := fold(outputLines(string(lastBytes([]byte(text[max(0, len(text)-tailBytes-1):]), tailBytes))), width)
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	return lines[max(0, len(lines)-n):]
}

// cut shortens a line to width.
func cut(line string, width int) string { return ansi.Truncate(line, width, "…") }
