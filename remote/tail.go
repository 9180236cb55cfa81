package remote

import (
	"bytes"
	"sync"
)

const maxTail = 4 << 10

// A Tail keeps the last 4 KiB written to it. It holds the standard error of a transport's remote shell, whose end
// explains in an error why a connection was lost. The zero value is empty and ready to use. A Tail is safe for
// concurrent use by multiple goroutines.
type Tail struct {
	mu   sync.Mutex
	kept []byte
}

// Write appends p. It never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p[max(0, len(p)-maxTail):]...)
	if over := len(t.kept) - maxTail; over > 0 {
		t.kept = t.kept[:copy(t.kept, t.kept[over:])]
	}
	return len(p), nil
}

// String returns the kept text without surrounding white space.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.kept))
}
