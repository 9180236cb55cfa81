package display

import (
	"context"
	"io"

	"github.com/acpterm/acpterm"
)

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
