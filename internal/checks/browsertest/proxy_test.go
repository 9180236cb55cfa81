package browsertest

// Messages of the page behind middleware and proxies that break its requirements.

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/acptermtest"
)

// bareWriter hides http.Flusher and http.Hijacker.
type bareWriter struct{ http.ResponseWriter }

// If live data cannot be sent, the page says why, and does not retry forever.
func testMiddleware(t *testing.T, b visitor) {
	var streams atomic.Int64
	v := serve(t, made(t, acptermtest.Commands{"make": acptermtest.Block}), nil, func(server *httptest.Server) {
		inner := server.Config.Handler
		server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/events") && r.Header.Get("Upgrade") == "" {
				streams.Add(1)
			}
			inner.ServeHTTP(bareWriter{w}, r)
		})
	})
	terminal := v.create(t, "make")
	p := b.visit(t, v.url)
	p.until(`document.getElementById('connection').textContent.includes('http.Flusher')`)
	tries := streams.Load()
	time.Sleep(1500 * time.Millisecond) // a page that retries does so after a second
	require.Equal(t, tries, streams.Load())
	p.end()
	p = b.visit(t, v.only(terminal))
	p.until(`part('.note').textContent.includes('http.Flusher') && !visible(part('.stop'))`)
}
