package remote

// The pipes of a Command on Windows.

import (
	"io"
	"os"
	"time"

	"github.com/acpterm/acpterm/internal/proc"
)

// deadlinePipe returns a pipe with a reading end that supports deadlines.
func deadlinePipe() (r, w *os.File, err error) {
	r, handle, err := proc.OutputPipe()
	if err != nil {
		return nil, nil, err
	}
	return r, os.NewFile(uintptr(handle), "output"), nil
}

// left reads the present contents of a pipe, waiting only a moment.
func left(pipe *os.File) []byte {
	pipe.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	all, _ := io.ReadAll(io.LimitReader(pipe, maxLeft))
	pipe.SetReadDeadline(time.Time{})
	return all
}
