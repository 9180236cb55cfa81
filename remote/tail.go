// Package tail keeps the end of written text.
package tail

import (
	"bytes"
	"sync"
)

// Size is the number of bytes that a Buffer keeps.
const Size = 4 << 10

// Buffer keeps the last Size bytes written to it. The zero value is empty. Its methods are safe for concurrent use.
type Buffer struct {
	mu   sync.Mutex
	kept []byte
}

// Write appends p. It never fails.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kept = append(b.kept, p[max(0, len(p)-Size):]...)
	if over := len(b.kept) - Size; over > 0 {
		b.kept = b.kept[:copy(b.kept, b.kept[over:])]
	}
	return len(p), nil
}

// String returns the kept text without surrounding white space.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(bytes.TrimSpace(b.kept))
}
