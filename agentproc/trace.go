package agentproc

import (
	"bytes"
	"io"

	"github.com/acpterm/acpterm/internal/hook"
)

// A TraceLine is a line read from or written to a connection.
type TraceLine struct {
	// Sent reports whether the line was written to the connection rather than read from it.
	Sent bool
	// Text is the line without its newline, truncated to 64 KiB. It is valid only until the hook returns.
	Text []byte
	// Bytes is the full length of the line.
	Bytes int64
}

// tracedConn is the connection returned by Trace.
type tracedConn struct {
	io.ReadWriteCloser
	received, sent lineTrace
}

// Trace returns a connection that calls trace with each line read from or written to conn. This can be used, for
// example, to log all lines. Note that lines contain the agent's messages and the output of commands, so they may
// contain secrets. The hook is called synchronously on the goroutine that reads or writes, and it is never called
// concurrently for the same direction. If the hook panics, the panic is logged.
//
// Only one goroutine at a time may read from the connection. Each write should consist of whole lines, as is the case
// for acpterm's Handler.Filter.
func Trace(conn io.ReadWriteCloser, trace func(TraceLine)) io.ReadWriteCloser {
	return &tracedConn{
		ReadWriteCloser: conn, received: lineTrace{trace: trace}, sent: lineTrace{trace: trace, isSent: true},
	}
}

// Read reads from the underlying connection. Only one goroutine at a time may call Read.
func (c *tracedConn) Read(p []byte) (int, error) {
	n, err := c.ReadWriteCloser.Read(p)
	c.received.add(p[:max(n, 0)])
	if err != nil {
		c.received.end()
	}
	return n, err
}

// Write calls the hook before writing to the underlying connection, so a line is always traced before the answer to it.
// Only one goroutine at a time may call Write.
func (c *tracedConn) Write(p []byte) (int, error) {
	c.sent.add(p)
	return c.ReadWriteCloser.Write(p)
}

// lineTrace splits the bytes of one direction into lines.
type lineTrace struct {
	trace  func(TraceLine)
	isSent bool
	text   []byte // the beginning of an unfinished line
	size   int64  // the length of that line so far
}

// end traces an unfinished last line.
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
