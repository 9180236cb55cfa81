package server

// Sending messages and the output of processes.

import (
	"io"
	"time"

	"github.com/acpterm/acpterm/remote/internal/frame"
)

// sender lets one goroutine write all frames, so that a hanging write cannot block anything that must end with the
// connection. Messages go first. The processes take turns with their output, within the window. The methods except run
// may be called concurrently. They wait until that goroutine takes the frame or the connection ends; after that they do
// nothing.
type sender struct {
	messages chan frame.Answer
	outputs  chan output // of the processes that wait, the first one is next
	opened   chan struct{}
	over     <-chan struct{} // the connection has ended
	window   window
}

func newSender(over <-chan struct{}) *sender {
	return &sender{
		messages: make(chan frame.Answer), outputs: make(chan output), opened: make(chan struct{}, 1), over: over,
		window: newWindow(),
	}
}

// output is a frame of output.
type output struct {
	process uint64
	offset  int64
	buffer  []byte        // with room for the header
	free    chan<- []byte // receives the buffer after the write
}

// run writes the hello and then all frames, until the connection ends. It fails if a write fails.
func (s *sender) run(out io.Writer, hello *frame.Hello) error {
	w := frame.NewWriter(out)
	if err := w.Message(frame.Answer{Hello: hello}); err != nil {
		return err
	}
	for {
		message, output := s.next()
		var err error
		switch {
		case message != nil:
			err = w.Message(message)
		case output != nil:
			err = s.write(w, output)
		default:
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// next waits for a message or output. It returns neither at the end of the connection.
func (s *sender) next() (*frame.Answer, *output) {
	for {
		select {
		case m := <-s.messages:
			return &m, nil
		default:
		}
		outputs := s.outputs
		if !s.window.open() {
			outputs = nil
		}
		select {
		case m := <-s.messages:
			return &m, nil
		case o := <-outputs:
			return nil, &o
		case <-s.opened:
		case <-s.over:
			return nil, nil
		}
	}
}

func (s *sender) write(w *frame.Writer, o *output) error {
	s.window.add(len(o.buffer), time.Now())
	err := w.Output(o.process, o.offset, o.buffer)
	select {
	case o.free <- o.buffer:
	default: // the connection has ended, and the sink has allocated other buffers
	}
	return err
}

// hasRead takes the Runner's report of the bytes that it has read.
func (s *sender) hasRead(bytes uint64) error {
	err := s.window.remove(bytes, time.Now())
	select {
	case s.opened <- struct{}{}:
	default:
	}
	return err
}

func (s *sender) message(a frame.Answer) {
	select {
	case s.messages <- a:
	case <-s.over:
	}
}

func (s *sender) output(o output) {
	select {
	case s.outputs <- o:
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
	if size := frame.Header + min(n, s.to.window.most()); cap(s.buffer) < size {
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
	s.to.output(output{
		process: s.process.number, offset: s.offset, buffer: s.buffer[:frame.Header+n], free: s.free,
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
