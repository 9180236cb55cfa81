package mcpserver

// Access control of HTTP requests: host names, origins, tokens and sizes. This file does not deal with MCP.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// entryKey is the key of a request's *Entry in auth.TokenInfo.
const entryKey = "entry"

// handler returns the handler of all requests.
func (l *Listener) handler(c *connections) http.Handler {
	admit := auth.RequireBearerToken(l.verify, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})
	mux := http.NewServeMux()
	mux.Handle(urlPath, admit(c.limit(l.readBody(http.HandlerFunc(serveEntry)))))
	return l.checkHost(http.NewCrossOriginProtection().Handler(mux))
}

// urlPath is the path of MCP.
const urlPath = "/mcp"

// serveEntry passes a request to its entry.
func serveEntry(w http.ResponseWriter, r *http.Request) { entryOf(r).serve(w, r) }

func entryOf(r *http.Request) *Entry {
	return auth.TokenInfoFromContext(r.Context()).Extra[entryKey].(*Entry)
}

// verify implements auth.TokenVerifier.
func (l *Listener) verify(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	e := l.find(token)
	if e == nil {
		return nil, auth.ErrInvalidToken
	}
	return &auth.TokenInfo{Extra: map[string]any{entryKey: e}}, nil
}

// checkHost refuses requests for another host, which a page can make after DNS rebinding, and those of all pages. It
// sets the headers that every response has.
func (l *Listener) checkHost(next http.Handler) http.Handler {
	_, port, _ := net.SplitHostPort(l.addr)
	hosts := []string{l.addr, net.JoinHostPort("localhost", port)}
	for _, host := range hosts { // clients leave out the default port
		hosts = append(hosts, strings.TrimSuffix(host, ":80"))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		origins := r.Header.Values("Origin")
		switch {
		case !slices.Contains(hosts, r.Host):
			refuse(w, "not under this name", http.StatusForbidden)
		case len(origins) > 1 || len(origins) == 1 && origins[0] != "http://"+r.Host:
			refuse(w, "not from another origin", http.StatusForbidden) // of GET requests, too
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// refuse answers a request and closes its connection.
func refuse(w http.ResponseWriter, reason string, code int) {
	w.Header().Set("Connection", "close")
	http.Error(w, reason, code)
}

// readBody reads the body of a request, and then removes the deadline set by http.Server.ReadTimeout, which would end
// the response. The body is thus complete before an MCP session is opened for it.
func (l *Listener) readBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, l.options.MaxBody))
		var tooLong *http.MaxBytesError
		switch {
		case errors.As(err, &tooLong):
			refuse(w, "the body is too long", http.StatusRequestEntityTooLarge)
		case err != nil:
			refuse(w, "the body could not be read", http.StatusRequestTimeout)
		case bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("[")):
			// Only versions of MCP before 2025-06-18 have batches. One could contain tens of thousands of calls.
			refuse(w, "batches are not supported", http.StatusBadRequest)
		case r.Method == http.MethodPost && !json.Valid(body):
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":"the body is not JSON"}}`+"\n",
				jsonrpc.CodeParseError)
		case checkAround(body) != nil:
			refuse(w, errAround.Error(), http.StatusRequestEntityTooLarge)
		default:
			http.NewResponseController(w).SetReadDeadline(time.Time{})
			r.Body = io.NopCloser(bytes.NewReader(body))
			next.ServeHTTP(w, r)
		}
	})
}

// limit refuses requests with a token if too many connections of its entry are open. Agents with several entries may
// use a connection for all of them.
func (c *connections) limit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !c.admit(r.Context().Value(connKey{}).(net.Conn), entryOf(r)) {
			w.Header().Set("Retry-After", "2")
			refuse(w, "too many connections are open", http.StatusServiceUnavailable)
			return
		}
		next.ServeHTTP(w, r)
	})
}
