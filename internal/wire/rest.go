package wire

// The rest of a connection, once some of its messages are served elsewhere.

import (
	"bytes"
	"sync"
)

// Rest is a connection without the messages that another reader takes out of it. Read returns the others, one per line,
// and Write writes whole lines. Only one goroutine may call Read; Write and Close may be called concurrently.
type Rest struct {
	lines  *Lines
	take   func(Message) bool
	ended  func()
	unread []byte // the rest of a line, for Read
	inLine bool   // the newline after unread has not been read

	writing  sync.Mutex
	unfilled []byte // the beginning of a line, from Write
}

// Rest returns the rest of the connection. Its Read calls take with each message, and returns those that take leaves.
// ended is called when Read fails and when Rest is closed. It must not block.
func (l *Lines) Rest(take func(Message) (taken bool), ended func()) *Rest {
	return &Rest{lines: l, take: take, ended: ended}
}

// Read reads a part of a line, or the end of one with its newline.
func (r *Rest) Read(p []byte) (int, error) {
	for !r.inLine {
		m, err := r.lines.Read()
		if err != nil {
			r.ended()
			return 0, err
		}
		if !r.take(m) {
			r.unread, r.inLine = m.Line, true // valid until the next Read of lines
		}
	}
	n := copy(p, r.unread)
	if r.unread = r.unread[n:]; len(r.unread) == 0 && n < len(p) {
		p[n] = '\n'
		n++
		r.unread, r.inLine = nil, false // frees the memory of a long line
	}
	return n, nil
}

// Write writes the lines that p completes, and keeps the beginning of the next one. It ignores blank lines.
func (r *Rest) Write(p []byte) (int, error) {
	r.writing.Lock()
	defer r.writing.Unlock()
	r.unfilled = append(r.unfilled, p...)
	for {
		line, rest, ended := bytes.Cut(r.unfilled, []byte{'\n'})
		if !ended {
			return len(p), nil
		}
		r.unfilled = rest
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if err := r.lines.WriteMessage(line); err != nil {
			r.unfilled = nil
			return len(p) - len(rest), err
		}
	}
}

// Close closes the connection.
func (r *Rest) Close() error {
	r.ended()
	return r.lines.Close()
}
