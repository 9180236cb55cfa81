package mcpserver

// The lines of a connection over stdio, a socket or a relay: one message on each. The SDK's transports end the session
// at a line that is none.

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/acpterm/acpterm"
)

// lines reads and writes the messages of a connection. A line that is not a message, or is too long, is answered with an
// error of JSON-RPC (-32700 or -32600), and does not end the connection. Only one goroutine may call next or Read.
type lines struct {
	io.ReadWriteCloser // without such lines, except those that only the SDK refuses
	reader             *bufio.Reader
	unread             []byte // the rest of a line, for Read
}

// newLines returns the lines of a connection, of at most limit bytes each.
func newLines(conn io.ReadWriteCloser, limit int, logger *slog.Logger) *lines {
	// It has no terminals: this connection is not one of ACP, but has the same kind of lines.
	h := acpterm.NewHandler(nil, &acpterm.HandlerOptions{
		Capabilities: &acpterm.ClientCapabilities{}, LineLimit: int64(limit),
		SkippedLines: func(_ []byte, size int64, reason string) {
			if logger != nil {
				logger.Warn("a line "+reason, "bytes", size)
			}
		},
	})
	l := &lines{ReadWriteCloser: h.Filter(context.Background(), conn)}
	l.reader = bufio.NewReader(l.ReadWriteCloser)
	return l
}

// next returns the next message, and its line.
func (l *lines) next() ([]byte, jsonrpc.Message, error) {
	for {
		line, err := l.reader.ReadBytes('\n')
		if err != nil {
			return nil, nil, err
		}
		msg, err := jsonrpc.DecodeMessage(line)
		if err == nil {
			return line, msg, nil
		}
		if err := l.refuse(line, err); err != nil {
			return nil, nil, err
		}
	}
}

// refuse answers a message with an error, unless it is a notification or a response.
func (l *lines) refuse(line []byte, reason error) error {
	id := member(line, "id")
	if id == nil || member(line, "method") == nil {
		return nil
	}
	message, err := json.Marshal(shorten(reason.Error(), maxErrorText))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(l, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`+"\n",
		id, jsonrpc.CodeInvalidRequest, message)
	return err
}

// Read reads lines with messages.
func (l *lines) Read(p []byte) (int, error) {
	if len(l.unread) == 0 {
		line, _, err := l.next()
		if err != nil {
			return 0, err
		}
		l.unread = line
	}
	n := copy(p, l.unread)
	l.unread = l.unread[n:]
	return n, nil
}

// Close closes the connection. It may be closed already: the end of its input closes it, and then the SDK does.
func (l *lines) Close() error {
	if err := l.ReadWriteCloser.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// overLines returns a transport over the lines of t, if t has lines.
func (c *session) overLines(t mcp.Transport) mcp.Transport {
	var conn io.ReadWriteCloser
	limit := 0
	switch t := t.(type) {
	case *mcp.StdioTransport:
		conn, limit = stdio{os.Stdin, os.Stdout}, t.MaxLineLength
	case *mcp.IOTransport:
		conn, limit = halves{t.Reader, t.Writer}, t.MaxLineLength
	default:
		return t
	}
	switch {
	case limit == 0:
		limit = mcp.DefaultMaxLineLength
	case limit < 0:
		limit = math.MaxInt
	}
	l := newLines(conn, limit, c.options.Logger)
	return &mcp.IOTransport{Reader: l, Writer: l, MaxLineLength: -1}
}

// stdio is a connection over this process's standard input and output. The latter is not closed.
type stdio struct {
	io.ReadCloser
	io.Writer
}

// halves is a connection of two streams.
type halves struct {
	io.ReadCloser
	writer io.WriteCloser
}

func (h halves) Write(p []byte) (int, error) { return h.writer.Write(p) }

func (h halves) Close() error { return errors.Join(h.ReadCloser.Close(), h.writer.Close()) }
