// Package requests counts and cancels the unanswered requests of one connection (Table), and calls functions one at a
// time, in order (Serial). It imports the standard library and jsonrpc2.
//
// For each request that Admit accepted, a caller calls Complete exactly once, before it writes the answer, and Done
// exactly once, after it.
package requests

import (
	"errors"
	"sync"

	"github.com/sourcegraph/jsonrpc2"
)

// Why Admit refuses a request.
var (
	ErrClosed = errors.New("the table is closed")
	ErrFull   = errors.New("too many requests are pending")
)

// spareAnswers is how many more answers than requests may be under way. A peer that has read an answer may send the
// next request before the goroutine that wrote the answer has called Done.
const spareAnswers = 64

// Request is a request that has not been answered.
type Request struct {
	ID jsonrpc2.ID

	// Under Table.mu.
	cancelled error  // the cause; nil: not cancelled
	cancel    func() // ends the wait of the request; nil: it does not wait
}

// Table is the requests of one connection. Its methods may be called concurrently, and do not block.
type Table struct {
	limit int

	mu         sync.Mutex
	closed     bool
	unanswered int // pending requests
	unwritten  int // complete requests whose answers are not written
	pending    map[jsonrpc2.ID]*Request
}

// New returns a table for so many requests at a time.
func New(limit int) *Table { return &Table{limit: limit, pending: make(map[jsonrpc2.ID]*Request)} }

// Admit makes a request pending. It fails with ErrFull, and with ErrClosed after Close.
func (t *Table) Admit(r *Request) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed:
		return ErrClosed
	case t.unanswered >= t.limit, t.unwritten >= t.limit+spareAnswers:
		return ErrFull
	}
	t.unanswered++
	t.pending[r.ID] = r
	return nil
}

// OnCancel sets the function that ends the wait of a request, and calls it at once if the request is cancelled already.
// The function must not block, and may be called more than once.
func (t *Table) OnCancel(r *Request, cancel func()) {
	t.mu.Lock()
	r.cancel = cancel
	cancelled := r.cancelled != nil
	t.mu.Unlock()
	if cancelled {
		cancel()
	}
}

// Complete removes a request from those that are pending, so that it cannot be cancelled any more. It returns why the
// request was cancelled before; nil if it was not.
func (t *Table) Complete(r *Request) (cancelled error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unanswered--
	t.unwritten++
	if t.pending[r.ID] == r { // unless the peer used the id again, against JSON-RPC's rules
		delete(t.pending, r.ID)
	}
	return r.cancelled
}

// Done counts the answer of a complete request as written.
func (t *Table) Done() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unwritten--
}

// Cancel cancels the pending request with an id, and reports whether there is one.
func (t *Table) Cancel(id jsonrpc2.ID, why error) bool {
	t.mu.Lock()
	r := t.pending[id]
	var cancel func()
	if r != nil {
		cancel = r.cancelLocked(why)
	}
	t.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	return r != nil
}

// Close cancels the pending requests; not one whose id was used again. Later ones are not admitted.
func (t *Table) Close(why error) {
	t.mu.Lock()
	t.closed = true
	var cancels []func()
	for _, r := range t.pending {
		if cancel := r.cancelLocked(why); cancel != nil {
			cancels = append(cancels, cancel)
		}
	}
	t.mu.Unlock()
	for _, cancel := range cancels {
		cancel()
	}
}

// cancelLocked returns the function to call without the lock; nil: there is none.
func (r *Request) cancelLocked(why error) (cancel func()) {
	if r.cancelled == nil {
		r.cancelled = why
	}
	return r.cancel
}
