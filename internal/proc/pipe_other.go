//go:build !windows

package proc

import (
	"errors"
	"os"
	"syscall"
)

// DeadlinePipe returns a pipe whose read end supports deadlines.
func DeadlinePipe() (r, w *os.File, err error) { return os.Pipe() }

// openInput returns a pipe whose Close of the write end makes a blocked write return.
func openInput() (r, w *os.File, err error) { return os.Pipe() }

// isBroken reports whether a write has failed because the read end is closed.
func isBroken(err error) bool { return errors.Is(err, syscall.EPIPE) }
