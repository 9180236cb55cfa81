package view_test

// Access control.

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/view"
	"github.com/stretchr/testify/require"
)

// A negative option is an error.
func TestNegativeOptions(t *testing.T) {
	m := must(acpterm.NewManager(nil))
	defer m.Close()
	for option, o := range map[string]view.Options{
		"Heartbeat": {Heartbeat: -1}, "MaxPast": {MaxPast: -1}, "MaxPastBytes": {MaxPastBytes: -1},
		"MaxStreams": {MaxStreams: -1},
	} {
		_, err := view.New(m, &o)
		require.ErrorContains(t, err, "view: Options."+option+" must not be negative")
	}
}

func TestTokenIsRandomAndLong(t *testing.T) {
	m := made(t, nil, acpterm.Options{})
	one, other := must(view.New(m, nil)), must(view.New(m, nil))
	defer one.Close()
	defer other.Close()
	require.NotEqual(t, one.Path(), other.Path())
	require.GreaterOrEqual(t, len(strings.Trim(one.Path(), "/")), 26, "128 bits in base 32 need 26 characters")
	for _, bad := range []string{"short", "has/a/slash/and/is/long", "has a space and is long"} {
		_, err := view.New(m, &view.Options{Token: bad})
		require.ErrorContains(t, err, "Options.Token", bad)
	}
}

func TestRequestsWithoutTheToken(t *testing.T) {
	v := newViewer(t, made(t, acptermtest.Commands{"make": acptermtest.Print("secret", 0)}, acpterm.Options{}),
		view.Options{AllowStop: true})
	terminal := v.create("s", "make")
	terminal.Wait(t.Context())
	for _, path := range []string{"", "events", "assets/page.js", output(terminal), "terminals/" + keyOf(terminal),
		"terminals/" + keyOf(terminal) + "/times"} {
		for _, prefix := range []string{"/", "/wrong-token-of-some-length/", "/" + token[:len(token)-1] + "/",
			"/" + token + "x/", "//" + token + "/"} {
			response, err := v.server.Client().Get(v.server.URL + prefix + path)
			require.NoError(t, err)
			body, _ := io.ReadAll(response.Body)
			response.Body.Close()
			require.Equal(t, http.StatusForbidden, response.StatusCode, prefix+path)
			require.NotContains(t, string(body), "secret")
			require.NotContains(t, string(body), token)
		}
	}
	require.Equal(t, http.StatusOK, v.request("GET", "", nil).StatusCode)

	response, err := v.server.Client().Get(v.server.URL + "/" + token)
	require.NoError(t, err)
	response.Body.Close()
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Equal(t, v.view.Path(), response.Request.URL.Path, "redirected to the path with the slash")
}

func TestOtherHostNamesAreRefused(t *testing.T) {
	v := newViewer(t, made(t, nil, acpterm.Options{}), view.Options{Hosts: []string{"view.example"}})
	status := func(host string) int {
		return v.request("GET", "", func(r *http.Request) { r.Host = host }).StatusCode
	}
	for _, host := range []string{"localhost", "localhost:1", "LOCALHOST", "127.0.0.1:80", "127.0.0.2", "[::1]:8080",
		"view.example", "View.Example:443"} {
		require.Equal(t, http.StatusOK, status(host), host)
	}
	for _, host := range []string{"evil.example", "localhost.evil.example:80", "127.0.0.1.evil.example", "192.0.2.7",
		"view.example.evil.example", "[2001:db8::1]"} {
		require.Equal(t, http.StatusForbidden, status(host), host)
	}
}

func TestOtherMachinesAreRefusedUnlessAllowed(t *testing.T) {
	m := made(t, nil, acpterm.Options{})
	status := func(options view.Options, remote, host string) int {
		v := must(view.New(m, &options))
		defer v.Close()
		r := httptest.NewRequest("GET", v.Path(), nil)
		r.RemoteAddr, r.Host = remote, host
		served := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 10), Port: 80}
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, served))
		w := httptest.NewRecorder()
		v.ServeHTTP(w, r)
		return w.Code
	}
	require.Equal(t, http.StatusForbidden, status(view.Options{}, "192.0.2.99:4000", "192.0.2.10"))
	require.Equal(t, http.StatusForbidden, status(view.Options{}, "nonsense:4000", "localhost"))
	require.Equal(t, http.StatusOK, status(view.Options{}, "127.0.0.1:4000", "192.0.2.10"))
	require.Equal(t, http.StatusOK, status(view.Options{}, "[::1]:4000", "localhost"))
	require.Equal(t, http.StatusOK, status(view.Options{}, "@", "localhost"), "a Unix socket")
	require.Equal(t, http.StatusOK, status(view.Options{AllowRemote: true}, "192.0.2.99:4000", "192.0.2.10"))
	require.Equal(t, http.StatusForbidden, status(view.Options{AllowRemote: true}, "192.0.2.99:4000", "192.0.2.11"))
	require.Equal(t, http.StatusForbidden, status(view.Options{AllowRemote: true}, "192.0.2.99:4000", "evil.example"))
}

func TestSecurityHeaders(t *testing.T) {
	v := newViewer(t, made(t, nil, acpterm.Options{}), view.Options{})
	refused, err := v.server.Client().Get(v.server.URL + "/")
	require.NoError(t, err)
	refused.Body.Close()
	preflight := v.request("OPTIONS", "terminals/x/stop", func(r *http.Request) {
		r.Header.Set("Origin", "https://evil.example")
		r.Header.Set("Access-Control-Request-Method", "POST")
		r.Header.Set("Access-Control-Request-Headers", "acp-terminal")
	})
	require.Equal(t, http.StatusMethodNotAllowed, preflight.StatusCode)
	answers := []*http.Response{refused, preflight, v.request("GET", "", nil), v.request("GET", "events", nil),
		v.request("GET", "assets/xterm/xterm.mjs", nil)}
	for _, answer := range answers {
		h := answer.Header
		policy := h.Get("Content-Security-Policy")
		require.Contains(t, policy, "default-src 'none'")
		require.Contains(t, policy, "script-src 'self';")
		require.Contains(t, policy, "style-src 'self';")
		require.Contains(t, policy, "frame-ancestors 'none'")
		require.Contains(t, policy, "require-trusted-types-for 'script'")
		require.NotContains(t, policy, "unsafe")
		require.Equal(t, "nosniff", h.Get("X-Content-Type-Options"))
		require.Equal(t, "no-store", h.Get("Cache-Control"))
		require.Equal(t, "no-referrer", h.Get("Referrer-Policy"))
		require.Equal(t, "same-origin", h.Get("Cross-Origin-Resource-Policy"))
		require.Empty(t, h.Values("Set-Cookie"))
		for name := range h {
			require.NotContains(t, name, "Access-Control", "no CORS")
		}
	}
	framed := newViewer(t, v.Manager, view.Options{FrameAncestors: []string{"https://editor.example"}})
	require.Contains(t, framed.request("GET", "", nil).Header.Get("Content-Security-Policy"),
		"frame-ancestors https://editor.example;")
}

func TestAssetsHaveTheirTypes(t *testing.T) {
	v := newViewer(t, made(t, nil, acpterm.Options{}), view.Options{})
	for path, kind := range map[string]string{
		"": "text/html", "terminals/x": "text/html", "assets/page.js": "text/javascript", "assets/page.css": "text/css",
		"assets/xterm/xterm.mjs": "text/javascript", "assets/icon.svg": "image/svg+xml", "assets/xterm/LICENSE-xterm": "text/plain",
	} {
		answer := v.request("GET", path, nil)
		require.Equal(t, http.StatusOK, answer.StatusCode, path)
		require.True(t, strings.HasPrefix(answer.Header.Get("Content-Type"), kind), path)
	}
	for _, path := range []string{"assets/", "assets/none.js", "assets/xterm", "none"} {
		require.Equal(t, http.StatusNotFound, v.request("GET", path, nil).StatusCode, path)
	}
	require.NotEqual(t, http.StatusOK, v.request("GET", "assets/..%2fview.go", nil).StatusCode)
}

func TestOnlyThePageCanStop(t *testing.T) {
	m := made(t, acptermtest.Commands{"serve": acptermtest.Block}, acpterm.Options{})
	v := newViewer(t, m, view.Options{AllowStop: true})
	terminal := v.create("s", "serve")
	path := "terminals/" + keyOf(terminal) + "/stop"
	status := func(v *viewer, method string, headers ...string) int {
		return v.request(method, path, func(r *http.Request) {
			for i := 0; i < len(headers); i += 2 {
				r.Header.Add(headers[i], headers[i+1])
			}
		}).StatusCode
	}
	own := "Acp-Terminal"
	require.Equal(t, http.StatusMethodNotAllowed, status(v, "GET", own, "stop"))
	require.Equal(t, http.StatusMethodNotAllowed, status(v, "PUT", own, "stop"))
	require.Equal(t, http.StatusForbidden, status(v, "POST"))
	require.Equal(t, http.StatusForbidden, status(v, "POST", own, "stop", "Origin", "https://evil.example"))
	require.Equal(t, http.StatusForbidden, status(v, "POST", own, "stop", "Origin", "null"))
	require.Equal(t, http.StatusForbidden, status(v, "POST", own, "stop", "Origin", "http://localhost:1"), "another port")
	require.Equal(t, http.StatusForbidden, status(v, "POST", own, "stop", "Origin", v.server.URL, "Origin",
		"https://evil.example"))
	require.Equal(t, http.StatusForbidden, status(v, "POST", own, "stop", "Sec-Fetch-Site", "cross-site"))
	require.Equal(t, http.StatusForbidden, status(v, "POST", own, "stop", "Sec-Fetch-Site", "same-site"))
	require.Equal(t, http.StatusForbidden, status(newViewer(t, m, view.Options{}), "POST", own, "stop"), "read-only")
	require.Equal(t, acpterm.StateRunning, terminal.State(), "all were refused")
	require.Equal(t, http.StatusNotFound, v.stop("term_none"))
	require.Equal(t, http.StatusAccepted, status(v, "POST", own, "stop", "Origin", v.server.URL, "Sec-Fetch-Site",
		"same-origin"))
	<-terminal.Done()
	require.Equal(t, acpterm.EndedByUser, terminal.EndedBy())
}
