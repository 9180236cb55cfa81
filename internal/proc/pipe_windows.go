package proc

import "os"

// DeadlinePipe returns a pipe whose read end supports deadlines.
func DeadlinePipe() (r, w *os.File, err error) {
	r, handle, err := OutputPipe()
	if err != nil {
		return nil, nil, err
	}
	return r, os.NewFile(uintptr(handle), "output"), nil
}
