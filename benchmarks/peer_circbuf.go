package main

// The peer github.com/armon/circbuf, behind os/exec.

import (
	"sync"

	"github.com/armon/circbuf"
)

func runCircbuf(c command, limit int) (int64, error) {
	ring, err := circbuf.NewBuffer(int64(limit))
	if err != nil {
		return 0, err
	}
	out := &lockedRing{ring: ring}
	cmd := c.cmd()
	cmd.Stdout, cmd.Stderr = out, out
	err = cmd.Run()
	return ring.TotalWritten(), err
}

// lockedRing may be read while it is written, which a terminal's output must be.
type lockedRing struct {
	mu   sync.Mutex
	ring *circbuf.Buffer
}

func (b *lockedRing) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ring.Write(p)
}
