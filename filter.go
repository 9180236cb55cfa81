package acpterm

// The connection to an agent, as jsonrpc2 and a Handler use it.

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"strconv"
	"sync"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm/internal/wire"
)

// Stream is a jsonrpc2.ObjectStream for ACP over any connection. Whatever the peer writes, the connection goes on: a
// line that is no JSON-RPC message, such as a debugging print on an agent's standard output, is handed to a hook,
// answered where JSON-RPC has an answer for it (-32700 or -32600), and skipped; a blank one is ignored. Requests are
// answered with the id that they came with, also where jsonrpc2 has no room for it; a handler then sees a string.
//
// With HandlerOptions.Stream it writes the replies to terminal/* without jsonrpc2, which would copy output four times,
// and with Handler.Connect it also hands the requests to the Handler directly. jsonrpc2's OnSend and OnRecv do not see
// those; a wrapper around the connection sees all that goes over it.
//
// ReadObject is for one goroutine; WriteObject and Close may be called concurrently with everything.
type Stream struct {
	lines   *wire.Lines
	skipped func(SkippedLine)

	// serve is called with each request and notification. It reports whether it took it, so that jsonrpc2 does not get
	// it. Nil: jsonrpc2 gets all.
	serve func(wire.Message) (taken bool)
}

var _ jsonrpc2.ObjectStream = (*Stream)(nil)

// StreamOptions configure a Stream. The zero value, and nil in its place, is good.
type StreamOptions struct {
	// LineLimit is how many bytes a line may have that the peer writes. A longer one is skipped, without being held in
	// memory. 0: 64 MiB. Negative: every line is skipped.
	LineLimit int64

	// SkippedLines is called with each line that is no message, for instance to show what an agent prints by mistake.
	// It is called by the goroutine that reads, which waits for it. If it panics, that is logged with its stack. Nil:
	// the line's length, what is wrong with it and, escaped, its first 120 bytes are logged by slog, at level Warn; not
	// the bytes of a line that begins as JSON does, which may be half a request with a secret.
	SkippedLines func(SkippedLine)
}

func (o *StreamOptions) lineLimit() int { return int(max(0, cmp.Or(o.LineLimit, 64<<20))) }

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

// NewStream returns a stream over a connection, such as an agentproc.Process or the result of agentproc.JoinStdio. It
// is for Handler.Connect, any jsonrpc2.Conn, and, with other libraries, Handler.Filter. A nil connection is one that
// has ended, and nil options are the defaults.
func NewStream(conn io.ReadWriteCloser, options *StreamOptions) *Stream {
	o := cmp.Or(options, &StreamOptions{})
	s := &Stream{skipped: o.SkippedLines}
	if s.skipped == nil {
		s.skipped = logSkippedLine
	}
	s.lines = wire.NewLines(conn, o.lineLimit(), s.skip, invalidMessage)
	return s
}

func logSkippedLine(l SkippedLine) {
	attrs := []any{"bytes", l.Bytes}
	if len(l.Text) > 0 && !bytes.ContainsAny(l.Text[:1], `{["`) {
		quoted := strconv.QuoteToASCII(string(l.Text[:min(len(l.Text), 120)]))
		attrs = append(attrs, "text", quoted[1:len(quoted)-1])
	}
	slog.Warn("acpterm: skipped a line that "+l.Reason, attrs...)
}

// skip hands a line to the hook. A panic of the hook is logged.
func (s *Stream) skip(text []byte, size int64, f *wire.Fault) {
	l := SkippedLine{Text: text, Bytes: size, Reason: f.Reason, Code: f.Code}
	callHook("SkippedLines", func() { s.skipped(l) })
}

// ReadObject reads the next line that is a JSON-RPC message into v. When the connection is at its end it returns
// io.EOF.
func (s *Stream) ReadObject(v any) error {
	m, err := s.read()
	if err != nil {
		return err
	}
	if into, ok := v.(json.Unmarshaler); ok {
		return into.UnmarshalJSON(m.Line)
	}
	return json.Unmarshal(m.Line, v)
}

// read returns the next message that serve does not take.
func (s *Stream) read() (wire.Message, error) {
	for {
		m, err := s.lines.Read()
		if err != nil || m.Method == "" || s.serve == nil || !s.serve(m) {
			return m, err
		}
	}
}

// WriteObject writes v as one line.
func (s *Stream) WriteObject(v any) error { return s.lines.WriteObject(v) }

// Close closes the connection.
func (s *Stream) Close() error { return s.lines.Close() }

// Filter serves terminal/* on a connection, as Connect does, and returns the rest of the connection, for a JSON-RPC
// library or an SDK whose messages are lines: it reads the agent's other messages, each a valid one with a newline, and
// passes to the agent each line that is written to it, between the handler's. A line that is not JSON fails the Write,
// which then has used what it counts.
//
// Requests are served while it is read, by one goroutine; Write and Close may be called concurrently. Its end, Close
// and the end of ctx close the handler.
//
// It takes the stream, which must be new, and is called in place of Connect, once. A nil stream is a connection that
// has ended.
func (h *Handler) Filter(ctx context.Context, s *Stream) io.ReadWriteCloser {
	if s == nil {
		s = NewStream(nil, nil)
	}
	h.stream = s
	s.serve = func(m wire.Message) (taken bool) {
		if m.Method == methodSessionUpdate && m.ID == nil {
			h.takeUpdate(m.Params)
		}
		return h.serveMessage(ctx, m)
	}
	f := &filter{handler: h, stream: s}
	stop := context.AfterFunc(ctx, func() { f.Close() })
	h.closing.OnSet(func() { stop() })
	return f
}

// filter is a connection without terminal/*.
type filter struct {
	handler *Handler
	stream  *Stream
	unread  []byte // the rest of a line, for Read

	writing  sync.Mutex
	unfilled []byte // the beginning of a line, from Write
}

func (f *filter) Read(p []byte) (int, error) {
	if len(f.unread) == 0 {
		m, err := f.stream.read()
		if err != nil {
			go f.handler.Close()
			return 0, err
		}
		f.unread = append(append(f.unread[:0], m.Raw...), '\n')
	}
	n := copy(p, f.unread)
	f.unread = f.unread[n:]
	return n, nil
}

func (f *filter) Write(p []byte) (int, error) {
	f.writing.Lock()
	defer f.writing.Unlock()
	f.unfilled = append(f.unfilled, p...)
	for {
		line, rest, ended := bytes.Cut(f.unfilled, []byte{'\n'})
		if !ended {
			return len(p), nil
		}
		f.unfilled = rest
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if err := f.stream.WriteObject(json.RawMessage(line)); err != nil {
			f.unfilled = nil
			return len(p) - len(rest), err
		}
	}
}

func (f *filter) Close() error {
	go f.handler.Close()
	return f.stream.Close()
}
