package browsertest

// Messages of the page behind middleware and proxies that break its requirements.

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/view"
	"github.com/stretchr/testify/require"
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

// Behind a proxy that rewrites the Host header, the page shows everything, and the reason why a stop is refused. With
// Options.Origins it can stop commands.
func testRewrittenHost(t *testing.T, b visitor) {
	var target *url.URL
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }})
	t.Cleanup(func() {
		proxy.CloseClientConnections()
		proxy.Close()
	})
	m := made(t, acptermtest.Commands{"serve": acptermtest.Block})
	for _, origins := range [][]string{nil, {proxy.URL}} {
		v := serve(t, m, &view.Options{AllowStop: true, Origins: origins})
		target = must(url.Parse(v.server.URL))
		terminal := v.create(t, "serve")
		p := b.visit(t, proxy.URL+v.view.TerminalPath(terminal.SessionID(), terminal.ID()))
		p.until(`part('.state').textContent === 'running' && visible(part('.stop'))`)
		p.click(".stop")
		if origins == nil {
			p.until(`part('.problem').textContent.startsWith('Not stopped: not from another origin') &&
				part('.problem').textContent.includes('Options.Origins')`)
			require.Empty(t, terminal.EndedBy())
		} else {
			p.until(`part('.state').textContent.startsWith('killed')`)
		}
		p.end()
	}
}
