package display

// Removal of escape sequences from output.

import (
	"context"
	"io"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/ansi"
)

// StripANSI removes terminal escape sequences (ECMA-48) from text. This includes colours and cursor movements (CSI),
// titles and hyperlinks (OSC), other string sequences (DCS, SOS, PM, APC) and two-byte sequences. StripANSI also
// removes the C1 control characters, U+0080 to U+009F, along with any sequences that they introduce. The visible text
// of a hyperlink is kept.
//
// If the text ends with an unfinished sequence, that sequence is removed. A string sequence hides everything up to its
// terminator, just as it would on a terminal, except that an OSC sequence also ends at BEL and before a line end. All
// other control characters are kept. Note that these include carriage returns and backspaces, so if a program
// overwrites text, the result contains the original text followed by its replacement. For the text that a terminal
// shows, use Text. To escape control characters, use Visible.
//
// If text is valid UTF-8, the result is valid as well. If a byte C2 is not followed by a continuation byte, it is
// replaced by U+FFFD or, at the end of the text, removed. All other bytes of invalid UTF-8 are kept.
func StripANSI(text string) string { return new(ANSIStripper).Strip(text) }

// An ANSIStripper removes escape sequences in the same way as StripANSI, but from text that arrives in chunks, which
// may be split anywhere. The zero value is ready to use. An ANSIStripper is not safe for concurrent use.
type ANSIStripper struct{ stripper ansi.Stripper }

// Strip returns the next chunk with any escape sequences removed. If a chunk ends in the middle of a sequence, the rest
// of the sequence is removed by the next call. Concatenating the results is equivalent to calling StripANSI with the
// concatenated chunks.
func (s *ANSIStripper) Strip(chunk string) string {
	if ansi.IsPlain(&s.stripper, chunk) {
		return chunk
	}
	return string(ansi.Append(&s.stripper, make([]byte, 0, len(chunk)), chunk))
}

// Follow copies the output of a terminal to w as it arrives. Since Follow uses an ANSIStripper, w may be the user's
// terminal. If w is slow, some of the output is skipped so that the command is not delayed. If the output of an agent's
// terminal is replaced, the new output is written after the old output. Follow returns when Terminal.Follow returns,
// when ctx is done, or when a write fails.
func Follow(ctx context.Context, w io.Writer, t *acpterm.Terminal) error {
	var text ANSIStripper
	for chunk := range t.Follow(ctx, 0) {
		if chunk.Replaced || chunk.Missed > 0 {
			text = ANSIStripper{} // an unfinished sequence does not continue here
		}
		if _, err := io.WriteString(w, text.Strip(chunk.Text)); err != nil {
			return err
		}
	}
	return ctx.Err()
}
