package remote

// Remote commands on a PTY.

import (
	"context"
	"fmt"
	"os"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/remote/internal/frame"
)

// maxInputs is the number of Writes per connection that may wait for programs to read. Further Writes wait for room, so
// that the requests of a connection stay far below the number that makes a helper end it.
const maxInputs = 1000

// ptyProcess is a process on a PTY.
type ptyProcess struct {
	*process
	writing chan struct{} // has an element during a Write
}

var _ acpterm.PTYProcess = (*ptyProcess)(nil)

func sizeOf(s acpterm.TerminalSize) *frame.Size {
	return &frame.Size{Columns: uint16(s.Columns), Rows: uint16(s.Rows)}
}

// Write sends input in pieces, each after the helper has written the one before.
func (p *ptyProcess) Write(input []byte) (n int, err error) {
	switch {
	case p.connection.lost.IsSet():
		return 0, p.connection.whyLost()
	case p.exited.IsSet():
		return 0, os.ErrClosed
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	defer p.exited.OnSet(func() { cancel(os.ErrClosed) })()
	for _, room := range []chan struct{}{p.writing, p.connection.inputs} {
		if err := takeRoom(ctx, room, p.connection.lost.Done()); err != nil {
			return 0, p.writeError(err)
		}
		defer func() { <-room }()
	}
	for n < len(input) {
		piece := input[n:min(len(input), n+frame.MaxInput)]
		reply, err := p.connection.askFor(ctx, &frame.Request{
			Input: &frame.Input{Process: p.id, Bytes: piece},
		}, p.connection.admitInput, func(r *frame.Reply) error {
			if r.Taken < 0 || r.Taken > len(piece) || r.Taken < len(piece) && !r.Over {
				return fmt.Errorf("%d bytes of input, of %d", r.Taken, len(piece))
			}
			return nil
		})
		if err != nil {
			return n, p.writeError(err)
		}
		n += reply.Taken
		if reply.Over {
			return n, os.ErrClosed
		}
	}
	return n, nil
}

// writeError returns the reason for a lost connection, or err. The loss also counts as the exit.
func (p *ptyProcess) writeError(err error) error {
	if p.connection.lost.IsSet() {
		return p.connection.whyLost()
	}
	return err
}

// Resize tells the helper the size, and does not wait.
func (p *ptyProcess) Resize(size acpterm.TerminalSize) error {
	if p.exited.IsSet() {
		return os.ErrClosed
	}
	p.connection.post(&frame.Request{Resize: &frame.Resize{Process: p.id, Size: *sizeOf(size)}})
	return nil
}
