// Package rpc implements the agent's side of a connection: JSON-RPC 2.0, one message per line. It returns answers
// unmodified, and can send any line. The kit shares no wire code with the library, so that a mistake cannot be in
// both.
package rpc

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// Object is a JSON object.
type Object = map[string]any

// Error is a JSON-RPC error.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Answer is an unmodified response.
type Answer struct {
	Line   []byte // with the end of the line
	Result json.RawMessage
	Error  *Error
}

// Request is a request or a notification from the peer. A notification has no ID.
type Request struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
}

// Conn is a connection. Its methods are safe for concurrent use.
type Conn struct {
	handle    func(Request)
	closed    chan struct{}
	unmatched chan Answer

	mu      sync.Mutex // guards everything below, and is held during a write
	w       io.Writer
	next    int
	pending map[string]chan Answer // by the encoded id
	stray   *string                // the first invalid line
}

// NewConn returns a connection. The caller must call Read.
func NewConn(w io.Writer, handle func(Request)) *Conn {
	return &Conn{
		handle: handle, closed: make(chan struct{}), unmatched: make(chan Answer, 1),
		w: w, pending: make(map[string]chan Answer),
	}
}

// Closed returns a channel. It is closed when the peer closes the connection.
func (c *Conn) Closed() <-chan struct{} { return c.closed }

// Unmatched returns a channel of answers whose id does not match a pending request. It buffers one answer and drops
// further ones.
func (c *Conn) Unmatched() <-chan Answer { return c.unmatched }

// Read reads messages until the end of r. It handles requests one after another, and skips invalid lines.
func (c *Conn) Read(r io.Reader) {
	defer close(c.closed)
	for in := bufio.NewReader(r); ; {
		line, err := in.ReadBytes('\n')
		var m struct {
			ID, Params, Result json.RawMessage
			Method, JSONRPC    string
			Error              *Error
		}
		switch {
		case len(bytes.TrimSpace(line)) == 0:
		case json.Unmarshal(line, &m) != nil || m.JSONRPC != "2.0":
			c.keepStray(string(line))
		case m.Method != "":
			c.handle(Request{m.ID, m.Method, m.Params})
		default:
			c.answer(string(m.ID), Answer{line, m.Result, m.Error})
		}
		if err != nil {
			return
		}
	}
}

func (c *Conn) keepStray(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stray == nil {
		c.stray = &line
	}
}

// Stray returns the first invalid line, if any.
func (c *Conn) Stray() (line string, there bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stray == nil {
		return "", false
	}
	return *c.stray, true
}

func (c *Conn) answer(id string, a Answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if pending := c.pending[id]; pending != nil {
		pending <- a
		delete(c.pending, id)
		return
	}
	select {
	case c.unmatched <- a:
	default:
	}
}

// ID returns an id for a request.
func (c *Conn) ID() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	return c.next
}

// Send sends a request with an id, a number or a string, and returns a channel for its answer.
func (c *Conn) Send(id any, method string, params any) <-chan Answer {
	key, err := json.Marshal(id)
	if err != nil {
		panic(err) // an impossible id
	}
	pending := make(chan Answer, 1)
	c.mu.Lock()
	c.pending[string(key)] = pending
	c.mu.Unlock()
	c.write(Object{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	return pending
}

// Notify sends a notification.
func (c *Conn) Notify(method string, params any) {
	c.write(Object{"jsonrpc": "2.0", "method": method, "params": params})
}

// Reply answers a request. It ignores a notification.
func (c *Conn) Reply(r Request, result any, failed *Error) {
	switch {
	case r.ID == nil:
	case failed != nil:
		c.write(Object{"jsonrpc": "2.0", "id": r.ID, "error": failed})
	default:
		c.write(Object{"jsonrpc": "2.0", "id": r.ID, "result": result})
	}
}

func (c *Conn) write(message Object) {
	line, err := json.Marshal(message)
	if err != nil {
		panic(fmt.Errorf("a message of the kit's: %w", err))
	}
	c.WriteLine(string(line))
}

// WriteLine sends a line unchanged. It does not report failures: they end the reading side.
func (c *Conn) WriteLine(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	io.WriteString(c.w, line+"\n")
}
