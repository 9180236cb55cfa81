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

// NewStream returns a stream for jsonrpc2.NewConn, with one message per line. Lines that are not messages are logged
// and skipped, whereas the streams of jsonrpc2 end the connection. NewStream also skips errors without an ID, such as a
// client's response to a debugging print on the agent's standard output, because jsonrpc2 would mistake them for the
// response to its first request. A nil conn behaves like a connection already closed by the peer.
func NewStream(conn io.ReadWriteCloser) jsonrpc2.ObjectStream {
	skipped := func(_ []byte, size int64, f *wire.Fault) {
		slog.Warn("agent: skipped a line that "+f.Reason, "bytes", size)
	}
	return wire.Objects{Lines: wire.NewLines(conn, maxLine, skipped, func(f *wire.Fault) *jsonrpc2.Error {
		return &jsonrpc2.Error{Code: f.Code, Message: "the line " + f.Reason}
	})}
}
