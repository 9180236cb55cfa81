package agent

// ACP's framing for agents on jsonrpc2.

import (
	"io"
	"log/slog"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm/internal/wire"
)

// maxLine is the maximum length in bytes of a line from the client.
const maxLine = 64 << 20

// NewStream returns a stream for use with jsonrpc2.NewConn that carries one message per line. Any line that does not
// contain a message is logged and skipped, whereas the streams provided by jsonrpc2 would end the connection. NewStream
// also skips errors that do not have an ID, such as the client's response to debugging output printed on the agent's
// standard output, because jsonrpc2 would mistake them for the response to its first request. If conn is nil, the
// stream behaves as if the peer had already closed the connection.
func NewStream(conn io.ReadWriteCloser) jsonrpc2.ObjectStream {
	skipped := func(_ []byte, size int64, f *wire.Fault) {
		slog.Warn("agent: skipped a line that "+f.Reason, "bytes", size)
	}
	return wire.Objects{Lines: wire.NewLines(conn, maxLine, skipped, func(f *wire.Fault) *jsonrpc2.Error {
		return &jsonrpc2.Error{Code: f.Code, Message: "the line " + f.Reason}
	})}
}
