package agentproc

import (
	"bytes"
	"io"

	"github.com/acpterm/acpterm/internal/hook"
)

// TraceLine is a line that was read from a connection or written to it.
type TraceLine struct {
	// Sent says that this side wrote the line. Otherwise it was read.
	Sent bool
	// Text is the line without its end, or its first 64 KiB. It is valid until the hook returns.
	Text []byte
	// Bytes is the length of the line.
	Bytes int64
}

// tracedConn is what Trace returns.
type tracedConn struct {
	io.ReadWriteCloser
	received, sent lineTrace
}

// Trace returns a connection that calls a hook with each line that passes, for a log. Lines have the words of agents
// and the output of commands, and may have secrets. The goroutines that read and write call the hook, one at a time in
// each direction, and wait for it. A panic of the hook is logged.
//
// Use it with one reader and with writers of whole lines, such as Handler.Filter of acpterm.
func Trace(conn io.ReadWriteCloser, trace func(TraceLine)) io.ReadWriteCloser {
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
			hook.Call("Trace", func() { t.trace(line) })
			t.text, t.size = t.text[:0], 0
		}
	}
}
