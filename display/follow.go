package display

import (
	"context"
	"io"

	"github.com/acpterm/acpterm"
)

// Follow writes a terminal's output to w as it arrives, as ANSIStripper returns it: w may be a person's terminal. It
// returns when Terminal.Follow ends or ctx does, and with the error when w fails. A slow w misses output, and does not
// delay the command. What replaces the output of an agent's terminal is written after what it replaces.
func Follow(ctx context.Context, w io.Writer, t *acpterm.Terminal) error {
	var text ANSIStripper
	for chunk := range t.Follow(ctx, 0) {
		if chunk.Replaced || chunk.Missed > 0 {
			text = ANSIStripper{} // a sequence that was begun does not go on here
		}
		if _, err := io.WriteString(w, text.Strip(chunk.Text)); err != nil {
			return err
		}
	}
	return ctx.Err()
}
