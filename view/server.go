package view

// The server of a view. It limits connections, which could otherwise use up the file descriptors that commands need.

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	// maxUnadmitted is the maximum number of connections before their first request with the token.
	maxUnadmitted = 32
	// spareAdmitted is the number of other connections beyond Options.MaxStreams, for pages and files.
	spareAdmitted = 32

	headerTimeout  = 5 * time.Second
	requestTimeout = 10 * time.Second
	idleTimeout    = 30 * time.Second
	maxHeader      = 16 << 10
)

// Server returns an http.Server that serves only the view and limits the number of its connections. Up to 32
// connections may be open without having sent a request with the token. If this limit is exceeded, the oldest of these
// connections is closed. In addition, up to Options.MaxStreams plus 32 connections may be open after having sent such a
// request. If this limit is exceeded, the new connection receives a 503 response and is closed. The timeouts are 5
// seconds to read the header of a request, 10 seconds to read a request, 30 seconds for an idle connection, and 30
// seconds to write to a browser that is not reading.
//
// To start the server, call Serve with a listener, or call ServeTLS to use TLS. The View should be closed before the
// server is. Note that each call to Server returns a server with its own limits, which are not shared with any other
// server.
func (v *View) Server() *http.Server {
	c := &connections{maxAdmitted: cap(v.streams) + spareAdmitted, admitted: make(map[net.Conn]bool)}
	return &http.Server{
		Handler:           v,
		ReadHeaderTimeout: headerTimeout, ReadTimeout: requestTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeader,
		ConnContext:    c.add,
		ConnState: func(conn net.Conn, state http.ConnState) {
			if state == http.StateClosed || state == http.StateHijacked {
				c.remove(conn)
			}
		},
	}
}

// connections holds the connections of one server.
type connections struct {
	maxAdmitted int

	mu         sync.Mutex
	unadmitted []net.Conn // oldest first
	admitted   map[net.Conn]bool
}

// admitKey is the context key of a func() bool that admits the request's connection.
type admitKey struct{}

// admitConnection reports whether the connection of a request with the token is within the limit. Only View.Server sets
// a limit.
func admitConnection(r *http.Request) bool {
	admit, limited := r.Context().Value(admitKey{}).(func() bool)
	return !limited || admit()
}

// add implements http.Server.ConnContext.
func (c *connections) add(ctx context.Context, conn net.Conn) context.Context {
	if oldest := c.push(conn); oldest != nil {
		closeNow(oldest)
	}
	return context.WithValue(ctx, admitKey{}, func() bool { return c.admit(conn) })
}

// push adds a connection. It returns the connection to close instead, or nil.
func (c *connections) push(conn net.Conn) (oldest net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unadmitted = append(c.unadmitted, conn)
	if len(c.unadmitted) > maxUnadmitted {
		oldest = c.unadmitted[0]
		c.unadmitted = slices.Delete(c.unadmitted, 0, 1)
	}
	return oldest
}

// admit moves a connection to the admitted ones. It reports false if it cannot.
func (c *connections) admit(conn net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.admitted[conn] {
		return true
	}
	i := slices.Index(c.unadmitted, conn)
	if i < 0 || len(c.admitted) >= c.maxAdmitted {
		return false
	}
	c.unadmitted = slices.Delete(c.unadmitted, i, i+1)
	c.admitted[conn] = true
	return true
}

func (c *connections) remove(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.admitted, conn)
	c.unadmitted = slices.DeleteFunc(c.unadmitted, func(other net.Conn) bool { return other == conn })
}

// closeNow closes a connection without TLS's close_notify, whose write could block.
func closeNow(conn net.Conn) {
	if encrypted, ok := conn.(*tls.Conn); ok {
		conn = encrypted.NetConn()
	}
	conn.Close()
}
