// Package tail keeps the end of what is written.
package tail

import (
	"bytes"
	"sync"
)

// Size is how many bytes a Buffer keeps.
const Size = 4 << 10

// Buffer keeps the last Size bytes of what is written to it. The zero value is empty. Its methods are safe for
// concurrent use.
type Buffer struct {
	mu   sync.Mutex
	kept []byte
}

// Write never fails.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kept = append(b.kept, p[max(0, len(p)-Size):]...)
	if over := len(b.kept) - Size; over > 0 {
		b.kept = b.kept[:copy(b.kept, b.kept[over:])]
	}
	return len(p), nil
}

// String returns what is kept, without white space around it.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(bytes.TrimSpace(b.kept))
}
