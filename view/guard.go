package view

// Access control: the token, host names and addresses of requests, and the security headers. This file does not deal
// with terminals.

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// changeHeader is required for a request that changes something. A page of another origin could send it only after a
// CORS preflight, which the view refuses.
const changeHeader = "Acp-Terminal"

// goodToken reports whether a token is long enough and is a path segment without escaping.
func goodToken(token string) bool {
	return len(token) >= 16 && strings.Trim(token,
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}

// admit returns the path below the token, or the reason to refuse the request. The path is empty if it lacks the slash
// after the token.
func (v *View) admit(r *http.Request) (path, refusal string) {
	switch {
	case !v.options.AllowRemote && !local(r.RemoteAddr):
		return "", "not from this machine"
	case !v.knownHost(r):
		return "", "not under this name"
	}
	given, rest, found := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch {
	case !sameSecret(given, v.options.Token):
		return "", "not without the token: use the whole URL"
	case !found:
		return "", ""
	}
	return "/" + rest, ""
}

// admitChange returns the reason to refuse a request that changes something, or "". permitted is the value of the
// option for this change.
func (v *View) admitChange(r *http.Request, permitted bool) (refusal string) {
	switch {
	case !permitted:
		return "for reading only"
	case r.Header.Get(changeHeader) == "":
		return "not without the header " + changeHeader
	}
	return v.admitOrigin(r)
}

// sameSecret compares in constant time. Comparing hashes hides the secret's length.
func sameSecret(given, secret string) bool {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(secret))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// admitOrigin returns the reason to refuse a request of another origin's page, or "". Only browsers send these headers.
func (v *View) admitOrigin(r *http.Request) (refusal string) {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" {
		return "not from another origin"
	}
	given := r.Header.Values("Origin")
	if len(given) == 0 {
		return ""
	}
	origin, ok := parseOrigin(given[0])
	if !ok || len(given) > 1 {
		return "not from another origin"
	}
	scheme, _, _ := strings.Cut(origin, "://")
	own, _ := parseOrigin(scheme + "://" + r.Host)
	if origin == own || slices.Contains(v.origins, origin) {
		return ""
	}
	return fmt.Sprintf("not from another origin: the page is of %s, and the Host header is %s. A proxy has to pass on the "+
		"browser's Host header; or name the page's origin in view.Options.Origins",
		printable(origin, maxOrigin), printable(r.Host, maxOrigin))
}

// maxOrigin limits the bytes of an origin in a refusal.
const maxOrigin = 200

// parseOrigin normalizes an origin: lower case, without the scheme's default port. It reports false if the text is not
// an origin.
func parseOrigin(text string) (origin string, ok bool) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || !strings.EqualFold(u.Scheme+"://"+u.Host, text) {
		return "", false
	}
	host := strings.ToLower(u.Host)
	switch u.Scheme {
	case "http":
		host = strings.TrimSuffix(host, ":80")
	case "https":
		host = strings.TrimSuffix(host, ":443")
	default:
		return "", false
	}
	return u.Scheme + "://" + host, true
}

// local reports whether a request's remote address is on this machine. The address of a Unix socket has no host.
func local(remote string) bool {
	addr, err := netip.ParseAddrPort(remote)
	if err != nil {
		host, _, splitErr := net.SplitHostPort(remote)
		return splitErr != nil || host == ""
	}
	return addr.Addr().Unmap().IsLoopback()
}

// knownHost reports whether the request's Host header is a name of the view, on any port. With DNS rebinding it is the
// name of another site.
func (v *View) knownHost(r *http.Request) bool {
	host := hostname(r.Host)
	own := func(name string) bool { return strings.EqualFold(name, host) }
	if host == "localhost" || slices.ContainsFunc(v.options.Hosts, own) {
		return true
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	if addr = addr.Unmap(); addr.IsLoopback() {
		return true
	}
	served, _ := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return served != nil && served.AddrPort().Addr().Unmap().WithZone("") == addr
}

// hostname returns a Host header without its port, in lower case.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

// setHeaders sets the security headers of every response, including refusals.
func (v *View) setHeaders(h http.Header) {
	ancestors := "'none'"
	if len(v.options.FrameAncestors) > 0 {
		ancestors = strings.Join(v.options.FrameAncestors, " ")
	}
	// Inline styles are refused too; assets/styles.js replaces those of xterm.js. No trusted-types policy is allowed,
	// so no script can convert text to HTML.
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "+
		"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors "+ancestors+"; "+
		"require-trusted-types-for 'script'; trusted-types 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
}

// dropPageHeaders removes the security headers of a page. They say nothing about a WebSocket or the files of the bundle,
// which name only files beside them, and would make up 2 % of a page.
func dropPageHeaders(h http.Header) {
	h.Del("Content-Security-Policy")
	h.Del("Cross-Origin-Opener-Policy")
	h.Del("Referrer-Policy")
}
