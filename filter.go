package acpterm

// Filter serves terminal/* on a connection and passes all other messages to the embedder's JSON-RPC library.

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strconv"

	"github.com/acpterm/acpterm/internal/wire"
)

// Filter wraps the connection to an agent and serves any terminal/* requests on it, including requests to cancel them.
// All other messages can be read from the returned connection, which can be used with any JSON-RPC library that
// supports newline-delimited JSON. The comment of this package shows it with jsonrpc2.
//
// Read returns these messages, one per line, and Write sends lines to the agent. If a line is not valid JSON, Write
// sends the lines that precede it and then returns an error. Requests are only served while rest is being read, so
// handlers of your library should not block, for example while waiting for the user, but should start a goroutine
// instead. Read must not be called by more than one goroutine at a time. Write and Close may be called concurrently.
//
// Invalid lines, such as debugging output, do not break the connection. Filter passes them to
// HandlerOptions.SkippedLines, and responds with the JSON-RPC error for them, if any (-32700 or -32600). Blank lines
// are ignored. Ids that jsonrpc2 cannot represent, such as 1.5, are strings in rest but not in replies.
//
// If ctx is done or rest is closed, Filter closes conn and the Handler, and only messages already buffered can be read:
// to get an agent's last ones, end ctx after Read has failed. If Read fails because the agent has closed the
// connection, Filter closes the Handler but not conn. Close returns once conn is closed, but Handler.Close also waits
// for commands to exit. Read and Write return the errors of conn. A nil conn is treated as closed. Filter must be
// called at most once.
func (h *Handler) Filter(ctx context.Context, conn io.ReadWriteCloser) (rest io.ReadWriteCloser) {
	skipped := h.options.SkippedLines
	if skipped == nil {
		skipped = logSkippedLine
	}
	lines := wire.NewLines(conn, h.options.lineLimit(), func(text []byte, size int64, fault *wire.Fault) {
		callHook("SkippedLines", func() { skipped(text, size, fault.Reason) })
	}, invalidMessage)
	take := func(m wire.Message) (taken bool) { return h.serveMessage(ctx, m, lines) }
	rest = lines.Rest(take, func() { go h.Close() })
	stop := context.AfterFunc(ctx, func() { rest.Close() })
	h.closing.OnSet(func() { stop() })
	return rest
}

// logSkippedLine is the default of HandlerOptions.SkippedLines. JSON may be a request with a secret.
func logSkippedLine(text []byte, size int64, reason string) {
	attrs := []any{"bytes", size}
	if len(text) > 0 && !bytes.ContainsAny(text[:1], `{["`) {
		quoted := strconv.QuoteToASCII(string(text[:min(len(text), 120)]))
		attrs = append(attrs, "text", quoted[1:len(quoted)-1])
	}
	slog.Warn("acpterm: skipped a line that "+reason, attrs...)
}
