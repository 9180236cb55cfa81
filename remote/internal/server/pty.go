package server

// Processes on a PTY.

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

// onPTY returns a process that has been started on a PTY.
func (s *server) onPTY(number uint64) (*process, error) {
	p := s.process(number)
	if p == nil || !p.started.IsSet() {
		return nil, unknownProcess(number)
	}
	return p, nil
}

// input sends keyboard input to a process. It blocks while the programs do not read, until the command exits.
func (s *server) input(r *frame.Input) (frame.Reply, error) {
	if len(r.Bytes) > frame.MaxInput {
		return frame.Reply{}, &failure{kind: internal, reason: "there is too much input"}
	}
	p, err := s.onPTY(r.Process)
	if err != nil {
		return frame.Reply{}, err
	}
	n, err := p.tree.Write(r.Bytes)
	if errors.Is(err, os.ErrClosed) {
		return frame.Reply{Taken: n, Over: true}, nil
	}
	if err != nil {
		err = &failure{kind: internal, reason: "the input was not written", err: err}
	}
	return frame.Reply{Taken: n}, err
}

// resize changes the size of a process's PTY.
func (s *server) resize(r *frame.Resize) error {
	size, err := ptySize(&r.Size)
	if err != nil {
		return err
	}
	p, err := s.onPTY(r.Process)
	if err != nil {
		return err
	}
	return p.tree.Resize(*size)
}
