package output

import (
	"os"
	"sync"
)

// Writer appends to a Buffer what is written to it, for writers that have no pipe. Its methods may be called
// concurrently, and wait for nothing but each other.
type Writer struct {
	mu     sync.Mutex // over copies in memory
	buffer *Buffer
	closed bool
}

// NewWriter returns the only writer of a buffer.
func NewWriter(b *Buffer) *Writer { return &Writer{buffer: b} }

// Write copies p. After Close it returns os.ErrClosed.
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

// Restart is Buffer.Restart. After Close it does nothing.
func (w *Writer) Restart() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.buffer.Restart()
	}
}

// Close indicates that there is no more. A second call does nothing.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.closed = true
		w.buffer.Close()
	}
	return nil
}
