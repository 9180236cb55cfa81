package server

// What is sent: messages, and the output of processes.

import (
	"io"

	"github.com/acpterm/acpterm/remote/internal/frame"
)

// sender has frames written by one goroutine, so that a write that hangs holds up nothing that has to end with the
// connection. The methods but run may be called concurrently. They wait until that goroutine takes the frame or the
// connection ends, after which they do nothing.
type sender struct {
	frames chan outgoing
	over   <-chan struct{} // the connection has ended
}

// outgoing is a frame: a message, or output.
type outgoing struct {
	message *frame.Answer

	process uint64
	offset  int64
	output  []byte        // with room for the header
	free    chan<- []byte // takes the buffer back
}

// run writes what comes, after the hello, until the connection ends. It fails if a write does.
func (s *sender) run(out io.Writer, hello *frame.Hello) error {
	w := frame.NewWriter(out)
	if err := w.Message(frame.Answer{Hello: hello}); err != nil {
		return err
	}
	for {
		var f outgoing
		select {
		case f = <-s.frames:
		case <-s.over:
			return nil
		}
		var err error
		if f.message != nil {
			err = w.Message(f.message)
		} else {
			err = w.Output(f.process, f.offset, f.output)
			select {
			case f.free <- f.output:
			default: // the connection has ended, and the sink has made others
			}
		}
		if err != nil {
			return err
		}
	}
}

func (s *sender) message(a frame.Answer) { s.send(outgoing{message: &a}) }

func (s *sender) send(f outgoing) {
	select {
	case s.frames <- f:
	case <-s.over:
	}
}

// sink is the capture.Sink of a process: it sends the output in frames. One is written while the next is read.
type sink struct {
	process *process
	to      *sender
	offset  int64
	buffer  []byte      // that is being filled; nil: none
	free    chan []byte // the others, unless they are being written
}

// newSink returns the sink of a process.
func newSink(p *process, to *sender) *sink {
	const buffers = 2
	s := &sink{process: p, to: to, free: make(chan []byte, buffers)}
	for range buffers {
		s.free <- nil
	}
	return s
}

// Reserve waits for a buffer to be written, unless the connection has ended.
func (s *sink) Reserve(n int) []byte {
	if s.buffer == nil {
		select {
		case s.buffer = <-s.free:
		case <-s.to.over:
		}
	}
	if size := frame.Header + min(n, frame.MaxOutput); cap(s.buffer) < size {
		s.buffer = make([]byte, size)
	} else {
		s.buffer = s.buffer[:size]
	}
	return s.buffer[frame.Header:]
}

// Commit hands the buffer over to be written.
func (s *sink) Commit(n int) {
	if n == 0 {
		return
	}
	s.to.send(outgoing{
		process: s.process.number, offset: s.offset, output: s.buffer[:frame.Header+n], free: s.free,
	})
	s.offset += int64(n)
	s.buffer = nil
}

// Close says that nothing more comes: the output has ended, or is not read any more.
func (s *sink) Close() {
	if !s.process.stopping.Load() {
		s.to.message(frame.Answer{Ended: &frame.Process{Process: s.process.number}})
	}
}
