package acpterm

// ACP's framing (https://agentclientprotocol.com/protocol/v1/transports): one JSON object a line, UTF-8. It
// knows lines and nothing of terminals; what a line is, message.go says.

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"

	"github.com/sourcegraph/jsonrpc2"
)

// Stream is a jsonrpc2.ObjectStream for ACP over any connection. Whatever the peer writes, the connection goes on: a line
// that is no JSON-RPC message, such as a debugging print on an agent's standard output, is handed to a hook, answered
// where JSON-RPC has an answer for it (-32700 or -32600), and skipped. Requests are answered with the id that they came
// with, also where jsonrpc2 has no room for it; a handler then sees a string in its place.
//
// With HandlerOptions.Stream it writes the replies to terminal/* without jsonrpc2, which would copy output four times,
// and with Handler.Connect it also hands the requests to the Handler directly. jsonrpc2's OnSend and OnRecv do not see
// those; a wrapper around the connection sees all that goes over it.
//
// ReadObject is for one goroutine; WriteObject and Close may be called concurrently with everything.
type Stream struct {
	conn    io.ReadWriteCloser
	try     tryWriter // nil: every write may wait
	limit   int
	skipped func(SkippedLine)

	// serve takes a request or notification that jsonrpc2 is not to get, and reports whether it did. Nil: jsonrpc2 gets
	// all.
	serve func(message) (taken bool)

	// For ReadObject alone.
	reader *bufio.Reader
	line   []byte // the last line, if it was longer than the reader's buffer

	writing sync.Mutex // held over a write, so that lines do not mix
	broken  error      // under writing: a line was written in part

	mu      sync.Mutex
	owed    map[*fault]int // answers with a null id that are to be written
	owedIDs [][]byte       // answers with an id, at most maxOwedIDs
	paying  bool           // there is a goroutine that writes them
}

var _ jsonrpc2.ObjectStream = (*Stream)(nil)

// maxOwedIDs bounds the answers that wait for a peer which does not read. Those beyond have a null id, and need no more
// room than a number.
const maxOwedIDs = 1000

// readerSize is how long a line can be without being copied.
const readerSize = 64 << 10

// StreamOption changes a Stream that NewStream makes.
type StreamOption func(*Stream)

// WithLineLimit sets how many bytes a line may have that the peer writes. A longer one is skipped, without being held in
// memory. 0: 64 MiB. Negative: every line is skipped.
func WithLineLimit(bytes int) StreamOption {
	return func(s *Stream) { s.limit = max(0, cmp.Or(bytes, defaultLineLimit)) }
}

const defaultLineLimit = 64 << 20

// WithSkippedLines sets a function that is called with each line which is no message, for instance to show what an
// agent prints by mistake. It is called by the goroutine that reads, which waits for it. If it panics, that is logged
// with its stack. Nil, or without this option: the line's length and what is wrong with it are logged by slog, at level
// Warn.
func WithSkippedLines(hook func(SkippedLine)) StreamOption {
	return func(s *Stream) {
		if hook != nil {
			s.skipped = hook
		}
	}
}

// SkippedLine is a line that is no message which jsonrpc2 could be given.
type SkippedLine struct {
	// Text is the line without its end; of one that is too long, the first 64 KiB at the most. It is valid until the
	// hook returns.
	Text []byte
	// Bytes is how long the line was.
	Bytes int64
	// Reason says what is wrong, as "is not JSON".
	Reason string
	// Code is what the peer was answered with, -32700 or -32600; 0: with nothing.
	Code int64
}

// NewStream returns a stream over a connection, such as JoinStdio makes of an agent's standard input and output.
// It is for Handler.Connect, or any jsonrpc2.Conn: with other libraries, which read and write lines of their own, it does not restore ids.
// A nil connection is one that has ended, and a nil option none.
func NewStream(conn io.ReadWriteCloser, options ...StreamOption) *Stream {
	if conn == nil {
		conn = endedConn{}
	}
	s := &Stream{
		conn: conn, try: newTryWriter(conn), reader: bufio.NewReaderSize(conn, readerSize),
		limit: defaultLineLimit, skipped: logSkippedLine, owed: make(map[*fault]int),
	}
	for _, option := range options {
		if option != nil {
			option(s)
		}
	}
	return s
}

func logSkippedLine(l SkippedLine) {
	slog.Warn("acpterm: skipped a line that "+l.Reason, "bytes", l.Bytes)
}

// ReadObject reads the next line that is a JSON-RPC message into v. When the connection is at its end it returns io.EOF.
func (s *Stream) ReadObject(v any) error {
	for {
		text, size, err := s.readLine()
		text = bytes.TrimSpace(text)
		m, id, wrong := message{}, []byte(nil), faultTooLong
		if size <= int64(s.limit) {
			m, id, wrong = parseMessage(text)
		}
		if wrong != nil && (err == nil || len(text) > 0) {
			if err == nil {
				s.owe(wrong, id)
			}
			skipped := SkippedLine{Text: text, Bytes: size, Reason: wrong.reason, Code: wrong.code}
			callHook("WithSkippedLines", func() { s.skipped(skipped) }) // a panic is logged, and the line skipped
		}
		switch {
		case m.method != "" && s.serve != nil && s.serve(m):
			continue
		case m.line != nil:
			if into, ok := v.(json.Unmarshaler); ok {
				return into.UnmarshalJSON(m.line)
			}
			return json.Unmarshal(m.line, v)
		}
		if err != nil {
			return err
		}
	}
}

// readLine returns the next line, valid until the next call, and its size without its end. Of a line that is longer than
// the limit it returns the beginning.
func (s *Stream) readLine() (text []byte, size int64, err error) {
	if cap(s.line) > 1<<20 {
		s.line = nil // what one long line took is given back
	}
	s.line = s.line[:0]
	for {
		piece, err := s.reader.ReadSlice('\n')
		size += int64(len(piece))
		if err == nil {
			size--
		}
		switch {
		case size > int64(s.limit):
			s.line = firstOf(min(s.limit, readerSize), s.line, piece)
		case err == nil && len(s.line) == 0:
			return piece, size, nil
		default:
			s.line = append(s.line, piece...)
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
		return s.line, size, err
	}
}

// firstOf returns the first n bytes of a line that comes in two pieces, without holding more.
func firstOf(n int, line, piece []byte) []byte {
	if len(line) > n {
		return slices.Clone(line[:n])
	}
	return append(line, piece[:min(len(piece), n-len(line))]...)
}

// owe has a line answered. That is not done by the goroutine that reads: a peer that writes for long before it reads
// would wait for it in vain.
func (s *Stream) owe(wrong *fault, id []byte) {
	if wrong.code == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(id) > 0 && len(s.owedIDs) < maxOwedIDs {
		s.owedIDs = append(s.owedIDs, wrong.answer(id))
	} else {
		s.owed[wrong]++
	}
	if !s.paying {
		s.paying = true
		go s.pay()
	}
}

// pay is the goroutine that there is while answers are owed.
func (s *Stream) pay() {
	for {
		answer := s.takeOwed()
		if answer == nil {
			return
		}
		s.write(answer) // should that fail, so will the connection, where somebody looks
	}
}

// takeOwed returns an answer that is owed. If there is none, the goroutine is over.
func (s *Stream) takeOwed() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.owedIDs) > 0 {
		answer := s.owedIDs[0]
		s.owedIDs = s.owedIDs[1:]
		return answer
	}
	for wrong := range s.owed {
		if s.owed[wrong]--; s.owed[wrong] == 0 {
			delete(s.owed, wrong)
		}
		return wrong.answer(nil)
	}
	s.owedIDs, s.paying = nil, false
	return nil
}

// WriteObject writes v as one line.
func (s *Stream) WriteObject(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return s.write(append(unwrapID(line), '\n'))
}

// write writes a line.
func (s *Stream) write(line []byte) error {
	return s.writePieces(func(write func([]byte) error) error { return write(line) })
}

// writePieces writes a line that comes in pieces. If it comes to its end too soon, nothing can be written any more:
// another line must not begin in the middle of one.
func (s *Stream) writePieces(line func(write func([]byte) error) error) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.broken != nil {
		return s.broken
	}
	written := false
	err := line(func(piece []byte) error {
		n, err := s.conn.Write(piece)
		written = written || n > 0
		return err
	})
	if err != nil && written {
		s.broken = err
	}
	return err
}

// tryWrite writes a line if that can be done without waiting, and reports whether it is done with it. If the peer takes
// only a part, the rest follows in a goroutine of its own.
func (s *Stream) tryWrite(line []byte) (done bool) {
	if s.try == nil || !s.writing.TryLock() {
		return false
	}
	n := 0
	if s.broken == nil {
		n = s.try.tryWrite(line)
	}
	if n == 0 || n == len(line) {
		s.writing.Unlock()
		return n > 0
	}
	go func() {
		defer s.writing.Unlock()
		_, s.broken = s.conn.Write(line[n:])
	}()
	return true
}

// Close closes the connection.
func (s *Stream) Close() error { return s.conn.Close() }
