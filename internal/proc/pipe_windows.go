package proc

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// DeadlinePipe returns a pipe whose read end supports deadlines.
func DeadlinePipe() (r, w *os.File, err error) {
	r, handle, err := OutputPipe()
	if err != nil {
		return nil, nil, err
	}
	return r, os.NewFile(uintptr(handle), "output"), nil
}

// openInput returns a pipe whose Close of the write end makes a blocked write return.
func openInput() (r, w *os.File, err error) {
	handle, w, err := inputPipe()
	if err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(handle), "input"), w, nil
}

// isBroken reports whether a write has failed because the read end is closed.
func isBroken(err error) bool {
	return errors.Is(err, windows.ERROR_NO_DATA) || errors.Is(err, windows.ERROR_BROKEN_PIPE)
}
