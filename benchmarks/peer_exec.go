package main

// The peer that is nothing but os/exec: with a bytes.Buffer, and with a buffer that is appended to and trimmed.

import (
	"bytes"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

func runExec(c command, _ int) (int64, error) {
	var out bytes.Buffer
	cmd := c.cmd()
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return int64(out.Len()), err
}

func runExecTrimming(c command, limit int) (int64, error) {
	out := trimBuffer{limit: limit}
	cmd := c.cmd()
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.written.Load(), err
}

// trimBuffer keeps the last limit bytes that are written: append, and cut off the beginning. What was cut off is freed when
// append next moves the rest.
type trimBuffer struct {
	limit   int
	written atomic.Int64

	mu   sync.Mutex
	data []byte
}

func (b *trimBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.data = append(b.data, p...)
	if over := len(b.data) - b.limit; over > 0 {
		b.data = b.data[over:]
	}
	b.written.Add(int64(len(p)))
	return len(p), nil
}

// text is what is kept, from the first whole character on, and whether that is not all.
func (b *trimBuffer) text() (string, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	data := b.data
	for len(data) > 0 && !utf8.RuneStart(data[0]) {
		data = data[1:]
	}
	return string(data), b.written.Load() > int64(len(data))
}
