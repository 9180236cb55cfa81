package server

// The input of processes: a PTY or a pipe.

import (
	"errors"
	"os"

	"github.com/acpterm/acpterm/internal/proc"
	"github.com/acpterm/acpterm/remote/internal/frame"
)

const maxPTYSize = 1000

// ptySize checks and converts the size of a PTY. It returns nil for nil.
func ptySize(s *frame.Size) (*proc.Size, error) {
	if s == nil {
		return nil, nil
	}
	if s.Columns < 1 || s.Columns > maxPTYSize || s.Rows < 1 || s.Rows > maxPTYSize {
		return nil, &failure{kind: internal, reason: "the size of the PTY is out of range"}
	}
	return &proc.Size{Columns: s.Columns, Rows: s.Rows}, nil
}

// running returns a process that has been started.
func (s *server) running(number uint64) (*process, error) {
	p := s.process(number)
	if p == nil || !p.started.IsSet() {
		return nil, unknownProcess(number)
	}
	return p, nil
}

// input sends input to a process and replies. It blocks while the programs do not read, until the command exits or the
// pipe is closed.
func (s *server) input(id uint64, r *frame.Input) {
	p, err := s.running(r.Process)
	if err != nil {
		s.reply(id, frame.Reply{}, err)
		return
	}
	defer p.beginInput()()
	reply, err := p.write(r.Bytes)
	s.reply(id, reply, err)
}

// beginInput delays the report of the exit until end, so that the reply to input that makes a command exit comes first.
func (p *process) beginInput() (end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.endsInput {
		return func() {}
	}
	p.inputs.Add(1)
	return p.inputs.Done
}

// endInputs waits for the replies to all input from before the exit. The exit has ended each write.
func (p *process) endInputs() {
	p.mu.Lock()
	p.endsInput = true
	p.mu.Unlock()
	p.inputs.Wait()
}

func (p *process) write(input []byte) (frame.Reply, error) {
	if len(input) > frame.MaxInput {
		return frame.Reply{}, &failure{kind: internal, reason: "there is too much input"}
	}
	write := p.tree.Write
	if p.stdin != nil {
		write = p.stdin.Write
	}
	n, err := write(input)
	if errors.Is(err, os.ErrClosed) {
		return frame.Reply{Taken: n, Over: true}, nil
	}
	if err != nil {
		err = &failure{kind: internal, reason: "the input was not written", err: err}
	}
	return frame.Reply{Taken: n}, err
}

// endInput closes the pipe to a process.
func (s *server) endInput(r *frame.Process) error {
	p, err := s.running(r.Process)
	if err == nil && p.stdin != nil {
		p.stdin.Close()
	}
	return err
}

// openInput makes the pipe for the standard input of a process, if the request asks for one. The caller calls begun
// after the start.
func (p *process) openInput(r *frame.Start, spec *proc.Spec) (begun func(ok bool), err error) {
	if !r.Stdin {
		return func(bool) {}, nil
	}
	if r.PTY != nil {
		return nil, &failure{kind: internal, reason: "a command on a PTY has no other input"}
	}
	if spec.Stdin, p.stdin, err = proc.InputPipe(); err != nil {
		return nil, &failure{kind: internal, reason: "the standard input cannot be opened", err: err}
	}
	return func(ok bool) {
		spec.Stdin.Close() // the command has it
		if !ok {
			p.stdin.Close()
			return
		}
		p.exited.OnSet(func() { p.stdin.Close() })
	}, nil
}

// resize changes the size of a process's PTY.
func (s *server) resize(r *frame.Resize) error {
	size, err := ptySize(&r.Size)
	if err != nil {
		return err
	}
	p, err := s.running(r.Process)
	if err != nil {
		return err
	}
	return p.tree.Resize(*size)
}
