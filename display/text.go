package display

// Output as the text that a terminal shows.

import (
	"strings"

	"github.com/acpterm/acpterm/internal/screen"
)

// Text returns the output of a command without a PTY as a terminal would show it. A carriage return, a backspace and
// the sequences that move the cursor or erase text have their effect on their line, so that of a progress bar only the
// last state remains. Other escape sequences and control characters are removed, except tabs and line feeds. The result
// is valid UTF-8: each invalid byte becomes U+FFFD.
//
// A sequence that moves the cursor to another line begins a new line. In lines of more than 512 columns, a carriage
// return goes back only to a multiple of that. For output in chunks, use a Renderer. The output of a terminal with a
// PTY is already such a text, in which sequences have their effect on the whole screen.
func Text(output string) string {
	var b strings.Builder
	var r Renderer
	for _, lines := range [][]Line{r.Write(output), r.Finish()} {
		for _, l := range lines {
			b.WriteString(l.Text)
		}
	}
	return b.String()
}

// A Renderer converts output to text in the same way as Text, but output that arrives in chunks, which may be split
// anywhere. Its memory has a fixed bound, apart from the results. The zero value is ready to use. A Renderer is not
// safe for concurrent use.
type Renderer struct{ lines screen.Lines }

// A Line is a line of text, or a part of a long one.
type Line struct {
	// Text is valid UTF-8 and has no control characters other than tabs and, unless the line goes on in the next one, a
	// line feed at its end.
	Text string
	// Size is the number of bytes of output, from the end of the line before to the end of this one.
	Size int64
	// Hidden is how many of them belong to escape sequences of at least 256 bytes, such as pictures, or to one without
	// an end, which hides all text that follows.
	Hidden int64
	// Exact reports whether Text is the output, unchanged.
	Exact bool
}

// Write returns the lines that the next chunk ends.
func (r *Renderer) Write(chunk string) []Line {
	lines := make([]Line, 0, strings.Count(chunk, "\n")+1)
	r.lines.Write(chunk, func(l screen.Line) { lines = append(lines, Line(l)) })
	return lines
}

// Rest returns the unfinished line, which the next chunk may continue or overwrite.
func (r *Renderer) Rest() Line { return Line(r.lines.Rest()) }

// Finish returns the unfinished line, if there is one. Each byte of an unfinished UTF-8 character becomes U+FFFD. A
// later chunk begins a new text.
func (r *Renderer) Finish() (lines []Line) {
	r.lines.Finish(func(l screen.Line) { lines = append(lines, Line(l)) })
	return lines
}

// Skip handles a chunk whose text is not needed. If it ends in an escape sequence, the rest of the sequence is not
// text. It must begin a line.
func (r *Renderer) Skip(chunk string) { r.lines.Skip(chunk) }
