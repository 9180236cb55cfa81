package capture

// Reading what a pseudo console shows, on Windows.

import (
	"errors"
	"os"
	"time"
)

// readPTY reads until the end of the pipe, or until Stop; then what lies in the pipe.
//
// What a program has written is shown by another process, some time later, and no call says that all has been. But when
// the console is closed, that process shows what is left and closes the pipe. The console is closed at the command's
// exit, which is what drains come after, so that the end of the pipe is near; internal/proc says what may delay it.
func (r *Reader) readPTY() error {
	const size = 4 << 10 // at an exit little is left
	for !r.isStopping() {
		n, err := readPipe(r.pipe, r.sink.Reserve(size))
		r.sink.Commit(n)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded): // of another Drain, or of Stop
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
