package wire

// ACP's framing (https://agentclientprotocol.com/protocol/v1/transports): one JSON object a line, UTF-8.

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"

	"github.com/sourcegraph/jsonrpc2"
)

// Lines reads and writes the messages of a connection, one a line. A line that is no message is answered, where JSON-RPC has an
// answer for it (-32700 or -32600), and skipped.
//
// Read is for one goroutine; everything else may be called concurrently.
type Lines struct {
	conn    io.ReadWriteCloser
	try     tryWriter // nil: every write may wait
	limit   int
	skipped func(text []byte, size int64, f *Fault)
	errorOf func(*Fault) *jsonrpc2.Error

	// For Read alone.
	reader *bufio.Reader
	line   []byte // the last line, if it was longer than the reader's buffer

	writing sync.Mutex // held over a write, so that lines do not mix
	broken  error      // under writing: a line was written in part

	mu       sync.Mutex
	replies  [][]byte       // error replies with an id that are to be written, at most maxReplies
	nullIDs  map[*Fault]int // how many without one are to be written, for each fault
	flushing bool           // there is a goroutine that writes them
}

// maxReplies bounds the error replies that wait for a peer which does not read. Those beyond have a null id, so that they only need
// to be counted.
const maxReplies = 1000

// readerSize is how long a line can be without being copied.
const readerSize = 64 << 10

// NewLines returns the lines of a connection. A nil connection is one that has ended. A line over limit bytes is skipped, without
// being held in memory. skipped is called with each line that is skipped, before the next one is read; text is valid until it returns,
// and of a line over the limit the beginning. errorOf is what a fault is answered with.
func NewLines(
	conn io.ReadWriteCloser, limit int,
	skipped func(text []byte, size int64, f *Fault), errorOf func(*Fault) *jsonrpc2.Error,
) *Lines {
	if conn == nil {
		conn = endedConn{}
	}
	return &Lines{
		conn: conn, try: newTryWriter(conn), limit: limit, skipped: skipped, errorOf: errorOf,
		reader: bufio.NewReaderSize(conn, readerSize), nullIDs: make(map[*Fault]int),
	}
}

// Read returns the next message, valid until the next call. At the connection's end its error is io.EOF.
func (l *Lines) Read() (Message, error) {
	for {
		text, size, err := l.readLine()
		text = bytes.TrimSpace(text)
		m, f := Message{}, faultTooLong
		if size <= int64(l.limit) {
			m, f = Parse(text)
		}
		if f != nil && (err == nil || len(text) > 0) {
			if err == nil && f.Code != 0 {
				l.queueErrorReply(f, m.ID)
			}
			l.skipped(text, size, f)
		}
		if m.Line != nil {
			return m, nil
		}
		if err != nil {
			return Message{}, err
		}
	}
}

// readLine returns the next line, valid until the next call, and its size without its end. Of a line that is longer than
// the limit it returns the beginning.
func (l *Lines) readLine() (text []byte, size int64, err error) {
	if cap(l.line) > 1<<20 {
		l.line = nil // what one long line took is given back
	}
	l.line = l.line[:0]
	for {
		piece, err := l.reader.ReadSlice('\n')
		size += int64(len(piece))
		if err == nil {
			size--
		}
		switch {
		case size > int64(l.limit):
			l.line = firstOf(min(l.limit, readerSize), l.line, piece)
		case err == nil && len(l.line) == 0:
			return piece, size, nil
		default:
			l.line = append(l.line, piece...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		// The peer is gone and left something unread, or this end was closed: both are the end and not an error.
		for _, end := range []error{syscall.ECONNRESET, os.ErrClosed, net.ErrClosed, io.ErrClosedPipe} {
			if errors.Is(err, end) {
				err = io.EOF
			}
		}
		return l.line, size, err
	}
}

// firstOf returns the first n bytes of a line that comes in two pieces, without holding more.
func firstOf(n int, line, piece []byte) []byte {
	if len(line) > n {
		return slices.Clone(line[:n])
	}
	return append(line, piece[:min(len(piece), n-len(line))]...)
}

// queueErrorReply has a fault answered by another goroutine than the one that reads: a peer may write for long before it reads.
func (l *Lines) queueErrorReply(f *Fault, id []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(id) > 0 && len(l.replies) < maxReplies {
		l.replies = append(l.replies, AppendError(nil, id, l.errorOf(f)))
	} else {
		l.nullIDs[f]++
	}
	if !l.flushing {
		l.flushing = true
		go l.flush()
	}
}

// flush writes error replies until none is left.
func (l *Lines) flush() {
	for {
		reply := l.nextErrorReply()
		if reply == nil {
			return
		}
		l.Write(reply) // after an error nothing can be read either, which Read's caller sees
	}
}

// nextErrorReply takes one from the queue; nil if it is empty.
func (l *Lines) nextErrorReply() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.replies) > 0 {
		reply := l.replies[0]
		l.replies = l.replies[1:]
		return reply
	}
	for f := range l.nullIDs {
		if l.nullIDs[f]--; l.nullIDs[f] == 0 {
			delete(l.nullIDs, f)
		}
		return AppendError(nil, nil, l.errorOf(f))
	}
	l.replies, l.flushing = nil, false
	return nil
}

// WriteObject writes v as one line.
func (l *Lines) WriteObject(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return l.Write(append(unwrapID(line), '\n'))
}

// Write writes a line.
func (l *Lines) Write(line []byte) error {
	return l.WritePieces(func(write func([]byte) error) error { return write(line) })
}

// WritePieces writes a line that comes in pieces. If it comes to its end too soon, nothing can be written any more:
// another line must not begin in the middle of one.
func (l *Lines) WritePieces(line func(write func([]byte) error) error) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	if l.broken != nil {
		return l.broken
	}
	written := false
	err := line(func(piece []byte) error {
		n, err := l.conn.Write(piece)
		written = written || n > 0
		return err
	})
	if err != nil && written {
		l.broken = err
	}
	return err
}

// TryWrite writes a line if that can be done without waiting, and reports whether it is done with it. If the peer takes
// only a part, the rest follows in a goroutine of its own.
func (l *Lines) TryWrite(line []byte) (done bool) {
	if l.try == nil || !l.writing.TryLock() {
		return false
	}
	n := 0
	if l.broken == nil {
		n = l.try.tryWrite(line)
	}
	if n == 0 || n == len(line) {
		l.writing.Unlock()
		return n > 0
	}
	go func() {
		defer l.writing.Unlock()
		_, l.broken = l.conn.Write(line[n:])
	}()
	return true
}

// Close closes the connection.
func (l *Lines) Close() error { return l.conn.Close() }
