package output

import (
	"os"
	"sync"
)

// A Writer appends to a Buffer, for output that does not come from a pipe. Its methods are safe for concurrent use.
// They block only while another call holds the lock.
type Writer struct {
	mu     sync.Mutex // held only while copying in memory
	buffer *Buffer
	closed bool
}

// NewWriter returns a Writer for b. It must be the only writer of b.
func NewWriter(b *Buffer) *Writer { return &Writer{buffer: b} }

// Write appends a copy of p. After Close it returns os.ErrClosed.
func (w *Writer) Write(p []byte) (n int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return 0, os.ErrClosed
	}
	for n < len(p) {
		part := copy(w.buffer.Reserve(min(len(p)-n, MaxReserve)), p[n:])
		w.buffer.Commit(part)
		n += part
	}
	return n, nil
}

// Restart calls Buffer.Restart. After Close it does nothing.
func (w *Writer) Restart() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.buffer.Restart()
	}
}

// Close closes the Buffer. A second call does nothing.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.closed = true
		w.buffer.Close()
	}
	return nil
}
