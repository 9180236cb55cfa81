// Package wire reads and writes the bytes of an ACP connection: JSON-RPC messages, one per line
// (https://agentclientprotocol.com/protocol/v1/transports), the params of requests, and responses. Responses to polls
// keep the escaped output for the next poll. The package knows nothing about terminals, managers or processes, and
// creates none of the root package's errors: callers convert a FieldError and a Fault into their own. It imports the
// standard library and jsonrpc2.
//
// Callers read from a Lines in one goroutine, and use a message before they read the next. They handle every request
// they have read. Lines that are not messages are answered here.
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

// MaxLine is the length of the longest line, newline included, that answers a poll. At a longer one, the TypeScript SDK
// ends the connection.
const MaxLine = 32 << 20

// Lines reads and writes the messages of a connection, one per line. It skips a line that is not a message, and answers
// it with an error where JSON-RPC has one for it (-32700 or -32600). It ignores blank lines.
//
// Only one goroutine may call Read; everything else may be called concurrently.
type Lines struct {
	conn    io.ReadWriteCloser
	limit   int
	skipped func(text []byte, size int64, f *Fault)
	errorOf func(*Fault) *jsonrpc2.Error

	// Used by Read only.
	reader *bufio.Reader
	line   []byte // the last line, if it was longer than the reader's buffer

	writing sync.Mutex // held during a write, so that lines do not mix
	broken  error      // guarded by writing: a line was partly written

	mu       sync.Mutex
	replies  [][]byte       // queued error replies with an id, at most maxReplies
	nullIDs  map[*Fault]int // number of queued error replies without an id
	flushing bool           // flush is running
}

// maxReplies bounds the memory for error replies to a peer that does not read. Further replies are sent with a null id,
// so that they only need to be counted.
const maxReplies = 1000

// readerSize is the length of the longest line that need not be copied.
const readerSize = 64 << 10

// NewLines returns the lines of a connection. A nil connection has ended. A line longer than limit bytes is skipped,
// and never held in memory as a whole.
//
// Read calls skipped with each skipped line. Its text is valid until skipped returns; for a line over the limit, it is
// only the beginning. errorOf returns the error that answers a fault.
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

type endedConn struct{}

func (endedConn) Read([]byte) (int, error)  { return 0, io.EOF }
func (endedConn) Write([]byte) (int, error) { return 0, os.ErrClosed }
func (endedConn) Close() error              { return nil }

// Read returns the next message, valid until the next call. At the end of the connection it returns io.EOF.
func (l *Lines) Read() (Message, error) {
	for {
		text, size, err := l.readLine()
		text = bytes.TrimSpace(text)
		m, f := Message{}, faultTooLong
		switch {
		case size > int64(l.limit):
		case len(text) == 0:
			f = nil // neither a message nor a fault
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

// chunkSize is the size in bytes of the chunks of a longer line, which are joined at its end. A growing slice would
// need several times the memory.
const chunkSize = 1 << 20

// readLine returns the next line, valid until the next call, and its size without the newline. If the line is over the
// limit, only its beginning is returned.
func (l *Lines) readLine() (text []byte, size int64, err error) {
	if cap(l.line) > chunkSize {
		l.line = nil // do not let one long line occupy memory for the rest of the connection
	}
	l.line = l.line[:0]
	var chunks [][]byte // before l.line
	for {
		piece, err := l.reader.ReadSlice('\n')
		size += int64(len(piece))
		if err == nil {
			size--
		}
		switch {
		case size > int64(l.limit):
			if chunks != nil {
				l.line, chunks = chunks[0], nil
			}
			l.line = firstOf(min(l.limit, readerSize), l.line, piece)
		case err == nil && len(l.line) == 0:
			return piece, size, nil
		case len(l.line)+len(piece) > chunkSize:
			chunks = append(chunks, l.line)
			l.line = append(make([]byte, 0, chunkSize), piece...)
		default:
			l.line = append(l.line, piece...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		// A vanished peer and a connection closed on this side are its end, not an error. Go guarantees the text of
		// net.ErrClosed (go.dev/issue/4373); importing net would link programs dynamically.
		is := func(end error) bool { return errors.Is(err, end) }
		if slices.ContainsFunc([]error{syscall.ECONNRESET, os.ErrClosed, io.ErrClosedPipe}, is) ||
			err != nil && strings.Contains(err.Error(), "use of closed network connection") {
			err = io.EOF
		}
		if chunks != nil {
			l.line = bytes.Join(append(chunks, l.line), nil)
		}
		return l.line, size, err
	}
}

// firstOf returns the first n bytes of a line in two pieces, in a slice no larger than needed.
func firstOf(n int, line, piece []byte) []byte {
	if len(line) > n {
		return slices.Clone(line[:n])
	}
	return append(line, piece[:min(len(piece), n-len(line))]...)
}

// queueErrorReply queues the answer to a fault: written by Read, it would block if the peer writes without reading.
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

func (l *Lines) flush() {
	for reply := l.nextErrorReply(); reply != nil; reply = l.nextErrorReply() {
		l.Write(reply) // the error is dropped: Read sees the end of the connection
	}
}

// nextErrorReply removes a reply from the queue. When the queue is empty, it returns nil, which ends flush.
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

// WriteMessage writes a message given without its newline. It restores the original id of the request in a response.
func (l *Lines) WriteMessage(line []byte) error {
	if line = bytes.TrimSpace(line); !json.Valid(line) {
		return errors.New("the line is not JSON")
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

// WritePieces writes a line piece by piece: the function line writes the pieces. After an error in the middle of a line
// every further write fails, because another line must not begin there.
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

// ReadObject reads the next message into v. With WriteObject, it makes Lines a jsonrpc2.ObjectStream.
func (l *Lines) ReadObject(v any) error {
	m, err := l.Read()
	if err != nil {
		return err
	}
	return json.Unmarshal(m.Line, v)
}

// WriteObject writes v as one line.
func (l *Lines) WriteObject(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return l.WriteMessage(line)
}

// Close closes the connection.
func (l *Lines) Close() error { return l.conn.Close() }
