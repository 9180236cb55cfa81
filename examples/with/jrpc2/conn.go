package main

// What ACP needs and jrpc2 does not do by itself: lines that are no messages are skipped, and order is kept.

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log"
	"sync"

	"github.com/creachadair/jrpc2"
)

// longestLine is how long a line of the agent's may be. A longer one ends the connection.
const longestLine = 64 << 20

// conn is jrpc2's channel.Channel for an agent. jrpc2's own, channel.Line, has no limit for a line, and hands on lines
// that are no JSON, over which a jrpc2.Client ends the connection.
//
// A jrpc2.Client deals with each message in a goroutine of its own, so that OnNotify may be told of notifications in
// the wrong order, and of a $/cancel_request before the request that it names. So conn takes the notifications for
// itself, and makes each request known, before it reads the next line.
//
// Two things stay as they are. While the agent does not read an answer, no other is given and no other request begun.
// And nothing bounds how many requests may be pending.
type conn struct {
	io.ReadWriteCloser
	lines    *bufio.Scanner
	requests *requests
	notified func(method string, params json.RawMessage)
}

func newConn(agent io.ReadWriteCloser, requests *requests, notified func(string, json.RawMessage)) *conn {
	c := &conn{agent, bufio.NewScanner(agent), requests, notified}
	c.lines.Buffer(nil, longestLine)
	return c
}

// Send writes a message. jrpc2 sends one after the other.
func (c *conn) Send(message []byte) error {
	_, err := c.Write(append(message, '\n'))
	return err
}

// Recv returns the next request or response.
func (c *conn) Recv() ([]byte, error) {
	for c.lines.Scan() {
		messages, err := jrpc2.ParseRequests(c.lines.Bytes())
		if err != nil || len(messages) != 1 || messages[0].Batch { // ACP has no batches
			log.Printf("skipped a line of %d bytes that is no message", len(c.lines.Bytes()))
			continue
		}
		switch m := messages[0]; {
		case m.Method == "": // a response
		case m.ID == "":
			c.notified(m.Method, m.Params)
			continue
		default:
			c.requests.begin(m.ID)
		}
		return c.lines.Bytes(), nil
	}
	if err := c.lines.Err(); err != nil {
		return nil, err
	}
	return nil, io.EOF
}

// requests are the agent's requests that have no answer yet. All methods may be called concurrently.
type requests struct {
	connected context.Context // ends with the connection
	mu        sync.Mutex
	pending   map[string]pending // by id, as JSON
}

// pending is what there is of a request.
type pending struct {
	ctx    context.Context
	cancel context.CancelFunc
}

func newRequests(connected context.Context) *requests {
	return &requests{connected: connected, pending: make(map[string]pending)}
}

// begin returns the context of a request. The first call for an id makes it.
func (r *requests) begin(id string) context.Context {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, known := r.pending[id]
	if !known {
		p.ctx, p.cancel = context.WithCancel(r.connected)
		r.pending[id] = p
	}
	return p.ctx
}

// cancel ends the context of a request, if it is pending.
func (r *requests) cancel(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p, known := r.pending[id]; known {
		p.cancel()
	}
}

// end says that a request has its result. An agent that used the id again, against the rules, may have ended it before.
func (r *requests) end(id string) {
	r.cancel(id)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.pending, id)
}
