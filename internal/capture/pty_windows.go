package capture

// Draining a pseudo console, on Windows.

import (
	"errors"
	"os"
	"time"
)

// readPTY reads until the end of the pipe. After Stop it reads only the present contents of the pipe.
//
// Another process renders a program's output some time after the program has written it, and no call reports when all
// of it is rendered. But when the console is closed, that process renders the remaining output and closes the pipe. The
// console is closed at the command's exit, and drains come after the exit, so the end of the pipe is near. Package
// internal/proc documents the possible delays.
func (r *Reader) readPTY() error {
	const size = 4 << 10 // little output remains at an exit
	for !r.isStopping() {
		n, err := readPipe(r.pipe, r.sink.Reserve(size))
		r.sink.Commit(n)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded): // from another Drain or from Stop
			r.pipe.SetReadDeadline(time.Time{})
		case err != nil:
			return err
		}
	}
	_, err := r.readPresent()
	return err
}

func (r *Reader) isStopping() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stopping
}
