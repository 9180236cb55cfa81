package main

// This file shows commands on a PTY, for -pty.

import (
	"os"
	"strings"

	"github.com/acpterm/acpterm"
)

const (
	nameWidth = len("[100] | ") // columns kept free for the name before each row
	mostRows  = 1000            // of a screen
)

// ptyOptions returns the PTY of the next command. Only the user of a page can type into it.
func ptyOptions(attended bool) *acpterm.PTYOptions {
	columns, rows := size(os.Stdout)
	return &acpterm.PTYOptions{Columns: max(columns-nameWidth, 1), Rows: max(rows-1, 1), Attended: attended}
}

// ptyEditor makes lines of the output of a command on a PTY. When the command moves the cursor to another line, lines
// may change until they scroll off, so all further lines are taken from the text of the terminal, at the end.
type ptyEditor struct {
	lineEditor
	output  func() acpterm.TerminalOutputResponse // of the terminal
	redrawn bool                                  // the command has moved the cursor to another line
	printed int                                   // number of lines printed
	newest  []string                              // those that may be on the screen
}

func (p *ptyEditor) add(text string) (lines string) {
	text, sequence := cutSequence(p.sequence + text)
	p.sequence = ""
	if p.redrawn = p.redrawn || leavesLine(text); !p.redrawn {
		lines = p.lineEditor.add(text)
		for line := range strings.Lines(lines) {
			p.printed, p.newest = p.printed+1, append(p.newest, strings.TrimSuffix(line, "\n"))
		}
		p.newest = p.newest[max(0, len(p.newest)-mostRows):]
	}
	p.sequence = sequence
	return lines
}

func (p *ptyEditor) unfinished() string {
	if p.redrawn {
		return ""
	}
	return p.lineEditor.unfinished()
}

// end returns the lines not printed yet, and those changed since.
func (p *ptyEditor) end() (lines string) {
	if !p.redrawn {
		return p.lineEditor.end()
	}
	output := p.output()
	first := p.printed - len(p.newest)
	if output.Truncated {
		first = 0 // their numbers are not known
	}
	var b strings.Builder
	text := harmless(strings.TrimRight(output.Output, "\n"), dropControls)
	for i, line := range strings.Split(text, "\n") {
		if known := i - first; i >= first && (known >= len(p.newest) || p.newest[known] != line) {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// leavesLine reports whether the text moves the cursor to another line other than by a line end, or shows another screen.
func leavesLine(text string) bool {
	for {
		begin := strings.IndexByte(text, '\x1b')
		if begin < 0 || begin+1 == len(text) {
			return false
		}
		text = text[begin:]
		parameters, final, ok := controlSequence(text)
		switch {
		case strings.HasPrefix(parameters, "?"):
			if final == 'h' && (strings.Contains(parameters, "47") || strings.Contains(parameters, "1049")) {
				return true
			}
		case final == 'J' && (parameters == "" || parameters == "0"): // erases the rows below
		case ok && strings.IndexByte("ABEFHJLMSTdefru", final) >= 0, !ok && strings.IndexByte("DEMc8", text[1]) >= 0:
			return true
		}
		text = text[1:]
	}
}
