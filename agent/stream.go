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

// NewStream returns a stream for jsonrpc2.NewConn. It carries the messages of a connection to a client, one per line.
// It logs and skips all other lines, while the streams of jsonrpc2 end the connection. It also skips errors without an
// id, such as the answer to a debugging print on the agent's standard output. jsonrpc2 would mistake them for the
// answer to its first request. If conn is nil, the connection has ended.
func NewStream(conn io.ReadWriteCloser) jsonrpc2.ObjectStream {
	skipped := func(_ []byte, size int64, f *wire.Fault) {
		slog.Warn("agent: skipped a line that "+f.Reason, "bytes", size)
	}
	return wire.Objects{Lines: wire.NewLines(conn, maxLine, skipped, func(f *wire.Fault) *jsonrpc2.Error {
		return &jsonrpc2.Error{Code: f.Code, Message: "the line " + f.Reason}
	})}
}
