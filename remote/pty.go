package remote

// Remote commands on a PTY.

import (
	"os"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/remote/internal/frame"
)

// ptyProcess is a process on a PTY.
type ptyProcess struct {
	*process
	input *input
}

var _ acpterm.PTYProcess = (*ptyProcess)(nil)

func sizeOf(s acpterm.TerminalSize) *frame.Size {
	return &frame.Size{Columns: uint16(s.Columns), Rows: uint16(s.Rows)}
}

func (p *ptyProcess) Write(input []byte) (n int, err error) { return p.input.Write(input) }

// Resize tells the helper the size, and does not wait.
func (p *ptyProcess) Resize(size acpterm.TerminalSize) error {
	if p.exited.IsSet() {
		return os.ErrClosed
	}
	p.connection.post(&frame.Request{Resize: &frame.Resize{Process: p.id, Size: *sizeOf(size)}})
	return nil
}
