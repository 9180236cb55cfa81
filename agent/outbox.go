package agent

// The queue of messages. A write of jsonrpc2 blocks while the peer does not read, and ignores its context, so a single
// goroutine writes.

import (
	"slices"
	"sync"
)

type message interface{ write() }

// outbox writes messages one at a time, in the order of add. The zero value is ready to use. All methods may be called
// concurrently.
type outbox struct {
	mu      sync.Mutex
	queue   []message
	writing bool // whether writeAll is running
}

// add queues a message. It does not block.
func (o *outbox) add(m message) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queue = append(o.queue, m)
	if !o.writing {
		o.writing = true
		go o.writeAll()
	}
}

// withdraw removes a message from the queue. It reports false if the message has been written, or is being written.
func (o *outbox) withdraw(m message) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.Index(o.queue, m)
	if i < 0 {
		return false
	}
	o.queue = slices.Delete(o.queue, i, i+1)
	return true
}

// writeAll writes messages until the queue is empty.
func (o *outbox) writeAll() {
	for {
		m := o.next()
		if m == nil {
			return
		}
		m.write()
	}
}

// next removes and returns the first message. If it returns nil, writeAll must return.
func (o *outbox) next() message {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.queue) == 0 {
		o.writing = false
		return nil
	}
	m := o.queue[0]
	o.queue = slices.Delete(o.queue, 0, 1)
	return m
}
