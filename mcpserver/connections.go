package mcpserver

// The number of connections: of those without a token, and of each entry.

import (
	"net"
	"slices"
	"sync"
)

// connections limits the connections over HTTP or of relays, which could otherwise use up the file descriptors that
// commands need.
type connections struct {
	mu         sync.Mutex
	unadmitted []net.Conn // oldest first
	admitted   map[net.Conn]*Entry
	open       map[*Entry]int // number of admitted connections
}

func newConnections() *connections {
	return &connections{admitted: make(map[net.Conn]*Entry), open: make(map[*Entry]int)}
}

// add adds a new connection, without a token so far. If there are too many, it closes the oldest one.
func (c *connections) add(conn net.Conn) {
	if oldest := c.push(conn); oldest != nil {
		oldest.Close()
	}
}

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

// admit counts a connection as one of e. It reports false if e has too many.
func (c *connections) admit(conn net.Conn, e *Entry) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.admitted[conn] == e {
		return true
	}
	if c.open[e] >= maxConnections {
		return false
	}
	c.forget(conn)
	c.admitted[conn] = e
	c.open[e]++
	return true
}

func (c *connections) remove(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(conn)
}

// forget removes a connection. The lock must be held.
func (c *connections) forget(conn net.Conn) {
	if i := slices.Index(c.unadmitted, conn); i >= 0 {
		c.unadmitted = slices.Delete(c.unadmitted, i, i+1)
	}
	e := c.admitted[conn]
	if e == nil {
		return
	}
	delete(c.admitted, conn)
	if c.open[e]--; c.open[e] == 0 {
		delete(c.open, e)
	}
}

// closeUnadmitted closes the connections without a token.
func (c *connections) closeUnadmitted() {
	c.mu.Lock()
	all := slices.Clone(c.unadmitted)
	c.mu.Unlock()
	for _, conn := range all {
		conn.Close()
	}
}
