package remote

// The input of remote commands: the keyboard of a PTY, or a pipe.

import (
	"context"
	"fmt"
	"os"

	"github.com/acpterm/acpterm/internal/latch"
	"github.com/acpterm/acpterm/remote/internal/frame"
)

// maxInputs is the number of Writes per connection that may wait for programs to read. Further Writes wait for room, so
// that the requests of a connection stay far below the number that makes a helper end it.
const maxInputs = 1000

// input writes to the standard input of a process, which is a PTY or a pipe.
type input struct {
	process *process
	writing chan struct{} // has an element during a Write
	closed  latch.Latch   // the pipe is
}

func newInput(p *process) *input { return &input{process: p, writing: make(chan struct{}, 1)} }

// Write sends input in pieces, each after the helper has written the one before.
func (i *input) Write(input []byte) (n int, err error) {
	p := i.process
	switch {
	case p.connection.lost.IsSet():
		return 0, p.connection.whyLost()
	case p.exited.IsSet(), i.closed.IsSet():
		return 0, os.ErrClosed
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	for _, end := range []*latch.Latch{&p.exited, &i.closed} {
		defer end.OnSet(func() { cancel(os.ErrClosed) })()
	}
	for _, room := range []chan struct{}{i.writing, p.connection.inputs} {
		if err := takeRoom(ctx, room, p.connection.lost.Done()); err != nil {
			return 0, i.writeError(err)
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
			return n, i.writeError(err)
		}
		n += reply.Taken
		if reply.Over {
			return n, os.ErrClosed
		}
	}
	return n, nil
}

// writeError returns the reason for a lost connection, or err. The loss also counts as the exit.
func (i *input) writeError(err error) error {
	if i.process.connection.lost.IsSet() {
		return i.process.connection.whyLost()
	}
	return err
}

// Close closes the pipe, and does not wait.
func (i *input) Close() error {
	if i.closed.IsSet() {
		return os.ErrClosed
	}
	i.closed.Set()
	if !i.process.exited.IsSet() {
		i.process.connection.post(&frame.Request{EndInput: &frame.Process{Process: i.process.id}})
	}
	return nil
}
