package display

import (
	"context"
	"io"

	"github.com/acpterm/acpterm"
)

// Follow copies a terminal's output to w as it arrives. Since it uses an ANSIStripper, w may be the user's terminal. If
// w is slow, it misses output rather than delaying the command. When the output of an agent's terminal is replaced, the
// new output follows the old. Follow returns when Terminal.Follow does, when ctx is done or when a write fails.
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
