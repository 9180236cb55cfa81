package output

import (
	"os"
	"sync"
)

// Target is a Buffer, or keeps a Buffer and more. One goroutine at a time calls the methods.
type Target interface {
	Reserve(n int) []byte
	Commit(n int)
	Restart()
	Close()
}

// A Writer appends to a Target, for output that does not come from a pipe. Its methods are safe for concurrent use.
// They block only while another call holds the lock.
type Writer struct {
	mu     sync.Mutex // held only while copying in memory
	to     Target
	closed bool
}

// NewWriter returns a Writer, which must be the only writer of the Target.
func NewWriter(to Target) *Writer { return &Writer{to: to} }

// Write appends a copy of p. After Close it returns os.ErrClosed.
func (w *Writer) Write(p []byte) (n int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return 0, os.ErrClosed
	}
	for n < len(p) {
		part := copy(w.to.Reserve(min(len(p)-n, MaxReserve)), p[n:])
		w.to.Commit(part)
		n += part
	}
	return n, nil
}

// Restart calls Restart of the Target. After Close it does nothing.
func (w *Writer) Restart() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.to.Restart()
	}
}

// Close closes the Target. A second call does nothing.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.closed = true
		w.to.Close()
	}
	return nil
}
