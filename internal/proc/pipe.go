package proc

// This file has the pipe to a command's standard input. pipe_windows.go and pipe_other.go make pipes.

import "os"

// Input is the write end of a pipe to a command's standard input. Its methods are safe for concurrent use.
type Input struct{ end *os.File }

// InputPipe returns a pipe for Spec.Stdin, and its write end. The caller closes both.
func InputPipe() (stdin *os.File, input *Input, err error) {
	r, w, err := openInput()
	if err != nil {
		return nil, nil, err
	}
	return r, &Input{w}, nil
}

// Write blocks while the pipe is full. It returns os.ErrClosed after Close, and if the other end is closed.
func (i *Input) Write(p []byte) (n int, err error) {
	n, err = i.end.Write(p)
	if isBroken(err) {
		err = os.ErrClosed
	}
	return n, err
}

// Close makes a blocked Write return. It does not block, and returns os.ErrClosed if it was called before.
func (i *Input) Close() error { return i.end.Close() }
