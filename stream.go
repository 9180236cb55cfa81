package acpterm

// ACP's framing (https://agentclientprotocol.com/protocol/v1/transports): one JSON object a line, UTF-8. It
// knows lines and nothing of terminals; what a line is, message.go says.

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/sourcegraph/jsonrpc2"
)

// Stream is a jsonrpc2.ObjectStream for ACP over any connection. Whatever the peer writes, the connection goes on: a line
// that is no JSON-RPC message, such as a debugging print on an agent's standard output, is handed to a hook, answered
// where JSON-RPC has an answer for it (-32700 or -32600), and skipped. Requests are answered with the id that they came
// with, also where jsonrpc2 has no room for it; a handler then sees a string in its place.
//
// Together with a Handler it writes the replies to terminal/* without jsonrpc2, which would copy output four times, and by
// Handler.Connect reads the requests without it, too. jsonrpc2's OnSend and OnRecv are not told of those; what goes over the
// connection can be seen by who wraps it.
//
// ReadObject is for one goroutine; WriteObject and Close may be called concurrently with everything.
type Stream struct {
	conn    io.ReadWriteCloser
	try     tryWriter // nil: every write may wait
	limit   int
	skipped func(SkippedLine)

	// serve takes what jsonrpc2 is not to have, and returns what is left to do of it, which may wait; nil: there is nothing.
	// Without it jsonrpc2 has all.
	serve    func(message) (taken bool, rest func())
	requests *requests          // serves some elsewhere; nil: none
	there    func(message) bool // whether it may be one of those, and others are likely to follow
	met      atomic.Bool        // by a Handler

	// Whose turn it is to read: ReadObject's, or, while that waits for it, that of serveThere.
	reader *bufio.Reader // of from
	from   intake
	line   []byte // the beginning of a line that is longer than the reader's buffer, or not there yet
	size   int64  // how much of such a line there was
	kept   *line  // one that was read, and is next
	rest   func() // what is left to do before that
	leave  bool   // the last line was taken, and the next may be served there

	writing sync.Mutex // held over a write, so that lines do not mix
	broken  error      // under writing: a line was written in part

	mu      sync.Mutex
	owed    map[*fault]int // answers with a null id that are to be written
	owedIDs [][]byte       // answers with an id, at most maxOwedIDs
	paying  bool           // there is a goroutine that writes them
}

var _ jsonrpc2.ObjectStream = (*Stream)(nil)

// line is what readLine returns.
type line struct {
	text []byte
	size int64
	err  error
}

// intake is what lines are read from.
type intake struct {
	conn  io.Reader
	other func([]byte) (int, error) // in its place, while it is not nil
}

func (i *intake) Read(p []byte) (int, error) {
	if i.other != nil {
		return i.other(p)
	}
	return i.conn.Read(p)
}

// errNotYet says that there is nothing to read at the moment.
var errNotYet = errors.New("nothing to read yet")

// maxOwedIDs bounds the answers that wait for a peer which does not read. Those beyond have a null id, and need no more
// room than a number.
const maxOwedIDs = 1000

// readerSize is how long a line can be without being copied.
const readerSize = 64 << 10

// StreamOption changes a Stream that NewStream makes.
type StreamOption func(*Stream)

// WithLineLimit sets how many bytes a line may have that the peer writes. A longer one is skipped, without being held in
// memory. 0: 64 MiB.
func WithLineLimit(bytes int) StreamOption {
	return func(s *Stream) { s.limit = cmp.Or(bytes, defaultLineLimit) }
}

const defaultLineLimit = 64 << 20

// WithSkippedLines sets the function that is told of each line which is no message, for instance to show what an agent
// prints by mistake. It is called by the goroutine that reads, and holds it up. Nil, or without this option: the line's
// length and what is wrong with it are logged by slog, at level Warn.
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
func NewStream(conn io.ReadWriteCloser, options ...StreamOption) *Stream {
	s := &Stream{
		conn: conn, try: newTryWriter(conn), from: intake{conn: conn},
		limit: defaultLineLimit, skipped: logSkippedLine, owed: make(map[*fault]int),
	}
	s.reader = bufio.NewReaderSize(&s.from, readerSize)
	for _, option := range options {
		option(s)
	}
	return s
}

func logSkippedLine(l SkippedLine) {
	slog.Warn("acpterm: skipped a line that "+l.Reason, "bytes", l.Bytes)
}

// ReadObject reads the next line that is a JSON-RPC message into v. When the connection is at its end it returns io.EOF.
func (s *Stream) ReadObject(v any) error {
	for {
		text, size, err := s.nextLine()
		text = bytes.TrimSpace(text)
		m, id, wrong := message{}, []byte(nil), faultTooLong
		if size <= int64(s.limit) {
			m, id, wrong = parseMessage(text)
		}
		if wrong != nil && (err == nil || len(text) > 0) {
			if err == nil {
				s.owe(wrong, id)
			}
			s.skipped(SkippedLine{Text: text, Bytes: size, Reason: wrong.reason, Code: wrong.code})
		}
		var taken bool
		var rest func()
		if s.serve != nil && m.method != "" {
			taken, rest = s.serve(m)
		}
		s.leave = taken && s.requests != nil && s.there(m)
		switch {
		case taken && rest != nil:
			rest()
			continue
		case taken:
			continue
		case m.line != nil:
			if !s.met.Load() && strings.HasPrefix(m.method, methodPrefix) {
				m.line = slices.Concat([]byte(`{"`+streamMark+`":true,`), m.line[1:])
			}
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

// nextLine is readLine, but for what is served elsewhere.
func (s *Stream) nextLine() (text []byte, size int64, err error) {
	if s.leave && s.reader.Buffered() == 0 {
		s.requests.await()
	}
	if s.rest != nil {
		s.rest()
		s.rest = nil
	}
	if next := s.kept; next != nil {
		s.kept = nil
		return next.text, next.size, next.err
	}
	return s.readLine()
}

// serveThere serves requests that are there, and waits for nothing. It reports false when it comes to something else, which
// it keeps: a long line, too, since to read that takes a while, and what comes after many requests, which take one together.
func (s *Stream) serveThere(read func([]byte) (int, error)) (all bool) {
	s.from.other = read
	defer func() { s.from.other = nil }()
	for range manyRequests {
		text, size, err := s.readLine()
		if err == errNotYet {
			return true
		}
		if err == nil && size < readerSize {
			if m, _, wrong := parseMessage(bytes.TrimSpace(text)); wrong == nil && m.method != "" && s.there(m) {
				taken, rest := s.serve(m)
				if taken && rest == nil {
					continue
				}
				if taken {
					s.rest = rest
					return false
				}
			}
		}
		s.kept = &line{text, size, err}
		return false
	}
	return false
}

// manyRequests are more than an agent makes at once that does not mean to hold up others.
const manyRequests = 32

// readLine returns the next line, valid until the next call, and its size without its end. Of a line that is longer than
// the limit it returns the beginning. After errNotYet it goes on where it was.
func (s *Stream) readLine() (text []byte, size int64, err error) {
	if s.size == 0 {
		if cap(s.line) > 1<<20 {
			s.line = nil // one long line is no reason to keep that much for ever
		}
		s.line = s.line[:0]
	}
	for {
		piece, err := s.reader.ReadSlice('\n')
		size := s.size + int64(len(piece))
		s.size = size
		if err == nil {
			size--
			s.size = 0
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
		if err == errNotYet {
			return nil, 0, err
		}
		s.size = 0
		// The peer is gone, and left unread what it was sent; or this end was closed. Both are the end, and no error
		// to report.
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
	if inquiry, ok := errors.AsType[*streamInquiry](err); ok {
		inquiry.stream = s
		return nil
	}
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

// How a Handler and the Stream of its connection find each other, though jsonrpc2 stands between them: the Stream puts
// a mark into terminal/* requests; the Handler, when it sees one, sends a notification with an inquiry in it; that
// cannot be encoded, and fails with itself, which is how the Stream gets hold of it. Nothing is written. Without a mark
// no Handler inquires, so another stream does not meet a message that fails.

// methodPrefix is what the methods that a Handler serves begin with.
const methodPrefix = "terminal/"

// streamMark is the member that a request is marked with.
const streamMark = "acpterm.stream"

// streamInquiry is the inquiry.
type streamInquiry struct{ stream *Stream }

// MarshalJSON fails with the inquiry.
func (q *streamInquiry) MarshalJSON() ([]byte, error) { return nil, q }

func (q *streamInquiry) Error() string { return "acpterm: asks which stream this is; not to be sent" }

// meetStream returns the Stream of a connection that has marked a request; nil if it is not one.
func meetStream(conn *jsonrpc2.Conn, req *jsonrpc2.Request) *Stream {
	marked := slices.ContainsFunc(req.ExtraFields, func(f jsonrpc2.RequestField) bool { return f.Name == streamMark })
	if !marked {
		return nil
	}
	inquiry := &streamInquiry{}
	if conn.Notify(context.Background(), streamMark, nil, jsonrpc2.ExtraField(streamMark, inquiry)) != nil || inquiry.stream == nil {
		return nil
	}
	inquiry.stream.met.Store(true)
	return inquiry.stream
}
