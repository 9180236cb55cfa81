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

// NewStream returns a stream for jsonrpc2.NewConn, with one message per line. Unlike the streams of jsonrpc2, which end
// the connection on any other line, it logs and skips such lines. It also skips errors without an id, such as the
// client's answer to a debugging print on the agent's standard output, because jsonrpc2 would mistake them for the
// answer to its first request. A nil conn is treated as a connection that has ended.
func NewStream(conn io.ReadWriteCloser) jsonrpc2.ObjectStream {
	skipped := func(_ []byte, size int64, f *wire.Fault) {
		slog.Warn("agent: skipped a line that "+f.Reason, "bytes", size)
	}
	return wire.Objects{Lines: wire.NewLines(conn, maxLine, skipped, func(f *wire.Fault) *jsonrpc2.Error {
		return &jsonrpc2.Error{Code: f.Code, Message: "the line " + f.Reason}
	})}
}
