//go:build !windows

package agentproc

import "os"

// deadlinePipe returns a pipe whose read end supports deadlines.
func deadlinePipe() (r, w *os.File, err error) { return os.Pipe() }
