// Package wire reads and writes the bytes of an ACP connection: JSON-RPC messages, one a line
// (https://agentclientprotocol.com/protocol/v1/transports), the params of requests, and responses, of which those to
// polls keep the output that they have escaped. It knows nothing of terminals, managers or processes, and makes none of
// the root package's errors: a caller turns a FieldError and a Fault into its own. It imports the standard library and
// jsonrpc2.
//
// Callers read from a Lines in one goroutine and use a message before they read the next. They handle every request
// that they have read; the lines that are no messages are answered here.
package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/sourcegraph/jsonrpc2"
)

// Lines reads and writes the messages of a connection, one a line. A line that is no message is skipped, and answered
// with an error where JSON-RPC has one for it (-32700 or -32600). A line of white space alone is ignored.
//
// Read is for one goroutine; everything else may be called concurrently.
type Lines struct {
	conn    io.ReadWriteCloser
	limit   int
	skipped func(text []byte, size int64, f *Fault)
	errorOf func(*Fault) *jsonrpc2.Error

	// For Read alone.
	reader *bufio.Reader
	line   []byte // the last line, if it was longer than the reader's buffer

	writing sync.Mutex // held over a write, so that lines do not mix
	broken  error      // under writing: a line was written in part

	mu       sync.Mutex
	replies  [][]byte       // queued error replies with an id, at most maxReplies
	nullIDs  map[*Fault]int // the number of queued error replies without an id
	flushing bool           // flush runs
}

// maxReplies bounds the memory of error replies to a peer that does not read. Those beyond are sent with a null id, so
// that they only need to be counted.
const maxReplies = 1000

// readerSize is how long a line can be without being copied.
const readerSize = 64 << 10

// NewLines returns the lines of a connection; a nil connection has ended. A line of more than limit bytes is skipped,
// and never held in memory as a whole.
//
// Read calls skipped with each skipped line. Its text is valid until skipped returns, and is the beginning of a line
// that is too long. errorOf returns the error that a fault is answered with.
func NewLines(
	conn io.ReadWriteCloser, limit int,
	skipped func(text []byte, size int64, f *Fault), errorOf func(*Fault) *jsonrpc2.Error,
) *Lines {
	if conn == nil {
		conn = endedConn{}
	}
	return &Lines{
		conn: conn, limit: limit, skipped: skipped, errorOf: errorOf,
		reader: bufio.NewReaderSize(conn, readerSize), nullIDs: make(map[*Fault]int),
	}
}

// Read returns the next message, valid until the next call. At the end of the connection it returns io.EOF.
func (l *Lines) Read() (Message, error) {
	for {
		text, size, err := l.readLine()
		text = bytes.TrimSpace(text)
		m, f := Message{}, faultTooLong
		switch {
		case size > int64(l.limit):
		case len(text) == 0:
			f = nil // no message, and no fault
		default:
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

// readLine returns the next line, valid until the next call, and its size without the newline. Of a line over the limit
// it returns the beginning.
func (l *Lines) readLine() (text []byte, size int64, err error) {
	if cap(l.line) > 1<<20 {
		l.line = nil // one long line does not occupy memory for the rest of the connection
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
		// A peer that is gone and a connection that was closed here are its end, and no error. Go keeps the text of
		// net.ErrClosed (go.dev/issue/4373); importing net would link programs dynamically.
		is := func(end error) bool { return errors.Is(err, end) }
		if slices.ContainsFunc([]error{syscall.ECONNRESET, os.ErrClosed, io.ErrClosedPipe}, is) ||
			err != nil && strings.Contains(err.Error(), "use of closed network connection") {
			err = io.EOF
		}
		return l.line, size, err
	}
}

// firstOf returns the first n bytes of a line in two pieces, in a slice that is not larger than needed.
func firstOf(n int, line, piece []byte) []byte {
	if len(line) > n {
		return slices.Clone(line[:n])
	}
	return append(line, piece[:min(len(piece), n-len(line))]...)
}

// queueErrorReply queues the answer to a fault. Read does not write it, because a peer that writes without reading
// would block it.
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

// flush writes the queued error replies.
func (l *Lines) flush() {
	for {
		reply := l.nextErrorReply()
		if reply == nil {
			return
		}
		l.Write(reply) // an error is dropped: Read sees the end of the connection
	}
}

// nextErrorReply removes a reply from the queue. It returns nil, and ends flush, when the queue is empty.
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

// errNotJSON is why WriteMessage fails.
var errNotJSON = errors.New("the line is not JSON")

// WriteMessage writes a message without its newline. The id of a response becomes the one that the request came with.
func (l *Lines) WriteMessage(line []byte) error {
	if line = bytes.TrimSpace(line); !json.Valid(line) {
		return errNotJSON
	}
	if line[0] == '{' {
		line = restoreID(line)
	}
	return l.Write(slices.Concat(line, []byte{'\n'}))
}

// Write writes a line, which ends in a newline.
func (l *Lines) Write(line []byte) error {
	return l.WritePieces(func(write func([]byte) error) error { return write(line) })
}

// WritePieces writes a line that its argument writes piece by piece. After an error in the middle of a line every
// further write fails, since another line must not begin there.
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

// Close closes the connection.
func (l *Lines) Close() error { return l.conn.Close() }
