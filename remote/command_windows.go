package remote

// The pipes of a Command on Windows.

import (
	"io"
	"os"
	"time"
)

// left reads the present contents of a pipe, waiting only a moment.
func left(pipe *os.File) []byte {
	pipe.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	all, _ := io.ReadAll(io.LimitReader(pipe, maxLeft))
	pipe.SetReadDeadline(time.Time{})
	return all
}
