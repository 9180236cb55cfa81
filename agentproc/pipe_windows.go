package agentproc

import (
	"os"

	"github.com/acpterm/acpterm/internal/proc"
)

// deadlinePipe returns a pipe whose read end supports deadlines.
func deadlinePipe() (r, w *os.File, err error) {
	r, handle, err := proc.OutputPipe()
	if err != nil {
		return nil, nil, err
	}
	return r, os.NewFile(uintptr(handle), "output"), nil
}
