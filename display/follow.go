package display

import (
	"context"
	"io"

	"github.com/acpterm/acpterm"
)

// Follow writes a terminal's output to w as it arrives, stripped by an ANSIStripper, so w can be the user's terminal.
// It returns when Terminal.Follow ends, ctx is done, or w returns an error. A slow w misses output but never delays the
// command. If the output of an agent's terminal is replaced, the new output is written after the old.
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
