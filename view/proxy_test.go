package view_test

// The view behind middleware and behind proxies.

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/view"
	"github.com/stretchr/testify/require"
)

// bareWriter hides all optional methods of a ResponseWriter.
type bareWriter struct{ http.ResponseWriter }

// wrappedWriter behaves as middleware should.
type wrappedWriter struct{ bareWriter }

func (w wrappedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// inMiddleware wraps the ResponseWriter of each request.
func inMiddleware(wrap func(http.ResponseWriter) http.ResponseWriter) func(*httptest.Server) {
	return func(server *httptest.Server) {
		inner := server.Config.Handler
		server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			inner.ServeHTTP(wrap(w), r)
		})
	}
}

// Middleware that hides Flush is bypassed if it can be unwrapped. Otherwise the response is an error that says so:
// without a flush, nothing reaches the page.
func TestStreamsThroughMiddleware(t *testing.T) {
	v, terminal, texts := newSteps(t, inMiddleware(func(w http.ResponseWriter) http.ResponseWriter {
		return wrappedWriter{bareWriter{w}}
	}))
	s := v.open(output(terminal), "")
	texts <- "one\n"
	got, _, _ := s.text(func(text string) bool { return text == "one\n" })
	require.Equal(t, "one\n", got)
	close(texts)

	v = newViewer(t, v.Manager, view.Options{MaxStreams: 1}, inMiddleware(func(w http.ResponseWriter) http.ResponseWriter {
		return bareWriter{w}
	}))
	for _, path := range []string{"events", output(terminal), "events"} { // none of them stays open
		answer := v.request("GET", path, nil)
		require.Equal(t, http.StatusNotImplemented, answer.StatusCode, path)
		require.Equal(t, "text/plain; charset=utf-8", answer.Header.Get("Content-Type"))
		require.Contains(t, string(must(io.ReadAll(answer.Body))), "http.Flusher")
	}
	_, response, err := v.socket("events", nil)
	require.Error(t, err)
	require.Equal(t, http.StatusNotImplemented, response.StatusCode)
	require.Equal(t, http.StatusOK, v.request("GET", "terminals/"+keyOf(terminal)+"/text", nil).StatusCode)
}

// newReverseProxy starts a proxy in front of a view, which is made when the proxy's address is known. The proxy passes
// the Host header on, or replaces it with the view's address, as most proxies do by default.
func newReverseProxy(t *testing.T, m *acpterm.Manager, keepHost bool, options func(proxy string) view.Options) (
	v *viewer, through *viewer,
) {
	var target *url.URL
	server := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		if keepHost {
			r.Out.Host = r.In.Host
		}
	}})
	t.Cleanup(server.Close)
	v = newViewer(t, m, options(server.URL))
	t.Cleanup(server.CloseClientConnections)
	target = must(url.Parse(v.server.URL))
	return v, &viewer{t, m, v.view, server}
}

// Behind a proxy that rewrites the Host header, a page's changes are refused with the reason, and allowed with
// Options.Origins.
func TestBehindAProxyThatRewritesTheHost(t *testing.T) {
	m := made(t, acptermtest.Commands{"serve": acptermtest.Block}, acpterm.Options{})
	before := &viewer{t: t, Manager: m}
	stop := func(v *viewer, terminal *acpterm.Terminal, origin, site string) (int, string) {
		answer := v.request("POST", "terminals/"+keyOf(terminal)+"/stop", func(r *http.Request) {
			r.Header.Set("Acp-Terminal", "stop")
			r.Header.Set("Origin", origin)
			r.Header.Set("Sec-Fetch-Site", site)
		})
		return answer.StatusCode, string(must(io.ReadAll(answer.Body)))
	}
	stopped := func(v *viewer, origin string) {
		t.Helper()
		terminal := before.create("s", "serve")
		status, body := stop(v, terminal, origin, "same-origin")
		require.Equal(t, http.StatusAccepted, status, body)
		<-terminal.Done()
		conn, _, err := v.socket("events", http.Header{"Origin": {origin}, "Sec-Fetch-Site": {"same-origin"}})
		require.NoError(t, err)
		messages(t, conn, "event: table")
	}
	refused := func(v *viewer, origin, site string) (reason string) {
		t.Helper()
		terminal := before.create("s", "serve")
		status, reason := stop(v, terminal, origin, site)
		require.Equal(t, http.StatusForbidden, status, origin)
		require.Equal(t, acpterm.StateRunning, terminal.State())
		_, response, err := v.socket("events", http.Header{"Origin": {origin}, "Sec-Fetch-Site": {site}})
		require.Error(t, err)
		require.Equal(t, http.StatusForbidden, response.StatusCode)
		return reason
	}

	v, through := newReverseProxy(t, m, false, func(string) view.Options { return view.Options{AllowStop: true} })
	reason := refused(through, through.server.URL, "same-origin")
	for _, part := range []string{through.server.URL, v.server.Listener.Addr().String(), "Host", "Options.Origins"} {
		require.Contains(t, reason, part)
	}
	through.open("events", "").row(func(tableRow) bool { return true }) // reading still works
	require.Equal(t, "no", through.request("GET", "events", nil).Header.Get("X-Accel-Buffering"), "nginx holds events back else")

	_, through = newReverseProxy(t, m, true, func(string) view.Options { return view.Options{AllowStop: true} })
	stopped(through, through.server.URL)

	for _, form := range []func(string) string{
		func(proxy string) string { return proxy },
		strings.ToUpper,
	} {
		v, through = newReverseProxy(t, m, false, func(proxy string) view.Options {
			return view.Options{AllowStop: true, Origins: []string{"https://view.example:443", form(proxy)}}
		})
		stopped(through, through.server.URL)
		stopped(through, "https://view.example")
		stopped(v, v.server.URL) // the view's own address
		refused(through, through.server.URL, "cross-site")
		for _, origin := range []string{"https://evil.example", "null", "http://view.example", "https://view.example:8443",
			"https://view.example.evil.example", "file://", "view.example"} {
			require.Contains(t, refused(through, origin, "same-origin"), "not from another origin")
		}
	}
}

func TestOriginsAreOrigins(t *testing.T) {
	m := made(t, nil, acpterm.Options{})
	for _, bad := range []string{"", "null", "*", "view.example", "https://", "https://view.example/", "https://view.example/a",
		"https://me@view.example", "https://view.example?a", "ftp://view.example", "https://view.example#"} {
		_, err := view.New(m, &view.Options{Origins: []string{"https://good.example", bad}})
		require.ErrorContains(t, err, "Options.Origins", bad)
	}
	for _, good := range []string{"https://view.example", "http://[::1]:8080", "HTTP://View.Example:80"} {
		require.NoError(t, must(view.New(m, &view.Options{Origins: []string{good}})).Close())
	}
}
