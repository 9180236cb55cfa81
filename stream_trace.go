package acpterm

// The trace of a Stream: each line that passes, for a log.

import (
	"bytes"
	"io"
)

// TraceLine is a line that a Stream has read or written.
type TraceLine struct {
	// Sent says that this end wrote it; else it was read.
	Sent bool
	// Text is the line without its end; of a longer one the first 64 KiB. It is valid until the hook returns.
	Text []byte
	// Bytes is how long the line was.
	Bytes int64
}

// tracedConn is a connection whose lines are traced. Its methods may be called as those of the connection may.
type tracedConn struct {
	io.ReadWriteCloser
	received, sent lineTrace
}

func newTracedConn(conn io.ReadWriteCloser, trace func(TraceLine)) *tracedConn {
	return &tracedConn{
		ReadWriteCloser: conn, received: lineTrace{trace: trace}, sent: lineTrace{trace: trace, isSent: true},
	}
}

// Read reads from the connection. One goroutine at a time calls it.
func (c *tracedConn) Read(p []byte) (int, error) {
	n, err := c.ReadWriteCloser.Read(p)
	c.received.add(p[:max(n, 0)])
	if err != nil {
		c.received.end()
	}
	return n, err
}

// Write writes to the connection. One goroutine at a time calls it. The trace comes first, else it could follow that of
// the answer.
func (c *tracedConn) Write(p []byte) (int, error) {
	c.sent.add(p)
	return c.ReadWriteCloser.Write(p)
}

// lineTrace makes lines of the bytes of one direction.
type lineTrace struct {
	trace  func(TraceLine)
	isSent bool
	text   []byte // of the line that is not at its end
	size   int64  // of the same
}

// end traces what is left of a line that has no end.
func (t *lineTrace) end() {
	if t.size > 0 {
		t.add([]byte{'\n'})
	}
}

func (t *lineTrace) add(p []byte) {
	const most = 64 << 10
	for len(p) > 0 {
		part, rest, ended := bytes.Cut(p, []byte{'\n'})
		t.text = append(t.text, part[:min(len(part), most-len(t.text))]...)
		t.size += int64(len(part))
		p = rest
		if ended {
			line := TraceLine{Sent: t.isSent, Text: t.text, Bytes: t.size}
			callHook("Trace", func() { t.trace(line) })
			t.text, t.size = t.text[:0], 0
		}
	}
}
