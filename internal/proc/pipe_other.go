//go:build !windows

package proc

import "os"

// DeadlinePipe returns a pipe whose read end supports deadlines.
func DeadlinePipe() (r, w *os.File, err error) { return os.Pipe() }
