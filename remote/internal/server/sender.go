package server

// Sending messages and the output of processes.

import (
	"io"

	"github.com/acpterm/acpterm/remote/internal/frame"
)

// sender lets one goroutine write all frames, so that a hanging write cannot block anything that must end with the
// connection. Its methods except run may be called concurrently. They wait until that goroutine takes the frame or the
// connection ends; after that they do nothing.
type sender struct {
	frames chan outgoing
	over   <-chan struct{} // the connection has ended
}

// outgoing is a frame: a message or output.
type outgoing struct {
	message *frame.Answer

	process uint64
	offset  int64
	output  []byte        // with room for the header
	free    chan<- []byte // receives the buffer after the write
}

// run writes the hello and then all frames, until the connection ends. It fails if a write fails.
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
			default: // the connection has ended, and the sink has allocated other buffers
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

// sink is the capture.Sink of a process. It sends the output in frames, and writes one while it reads the next.
type sink struct {
	process *process
	to      *sender
	offset  int64
	buffer  []byte      // the buffer being filled, or nil
	free    chan []byte // other buffers not being written
}

func newSink(p *process, to *sender) *sink {
	const buffers = 2
	s := &sink{process: p, to: to, free: make(chan []byte, buffers)}
	for range buffers {
		s.free <- nil
	}
	return s
}

// Reserve waits until a buffer has been written, unless the connection has ended.
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

// Commit sends the buffer to the writer.
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

// Close reports the end of the output, unless reading was stopped.
func (s *sink) Close() {
	if !s.process.stopping.Load() {
		s.to.message(frame.Answer{Ended: &frame.Process{Process: s.process.number}})
	}
}
