// Package requests counts and cancels the unanswered requests of one connection. It imports the standard library,
// jsonrpc2 and internal/latch.
//
// For each request accepted by Admit, the caller must call Complete exactly once, before it writes the answer, and Done
// exactly once, after it.
package requests

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm/internal/latch"
)

// Errors returned by Admit.
var (
	ErrClosed = errors.New("the table is closed")
	ErrFull   = errors.New("too many requests are pending")
)

// spareAnswers is how many more answers than requests may be in progress. A peer that has read an answer may send the
// next request before the goroutine that wrote the answer has called Done.
const spareAnswers = 64

// Request is an unanswered request.
type Request struct {
	ID jsonrpc2.ID

	// Guarded by Table.mu.
	cancelled error  // the cause, or nil if not cancelled
	cancel    func() // ends the wait of the request, or nil if it does not wait
}

// Table holds the requests of one connection. Its methods are safe for concurrent use, and do not block.
type Table struct {
	limit int

	mu         sync.Mutex
	closed     bool
	unanswered int // pending requests
	unwritten  int // complete requests whose answers have not been written
	pending    map[jsonrpc2.ID]*Request
}

// New returns a table for up to limit requests at a time.
func New(limit int) *Table { return &Table{limit: limit, pending: make(map[jsonrpc2.ID]*Request)} }

// Admit makes a request pending. It returns ErrFull if there are too many, and ErrClosed after Close.
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

// OnCancel sets the function that ends the wait of a request, and calls it immediately if the request is already
// cancelled. The function must not block, and may be called more than once.
func (t *Table) OnCancel(r *Request, cancel func()) {
	t.mu.Lock()
	r.cancel = cancel
	cancelled := r.cancelled != nil
	t.mu.Unlock()
	if cancelled {
		cancel()
	}
}

// Await calls f in a new goroutine when done is set or the request is cancelled. Until then, no goroutine waits.
func (t *Table) Await(r *Request, done *latch.Latch, f func()) {
	stop := done.OnSet(func() { go f() })
	t.OnCancel(r, func() {
		if stop() {
			go f()
		}
	})
}

// Complete removes a request from the pending ones, so that it can no longer be cancelled. It returns the cause if the
// request was cancelled before, or nil.
func (t *Table) Complete(r *Request) (cancelled error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unanswered--
	t.unwritten++
	if t.pending[r.ID] == r { // false if the peer used the id again, against JSON-RPC's rules
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

// Cancel cancels the pending request with an id, and reports whether it exists.
func (t *Table) Cancel(id jsonrpc2.ID, why error) bool {
	t.mu.Lock()
	r := t.pending[id]
	var cancel func()
	if r != nil {
		r.cancelled = cmp.Or(r.cancelled, why)
		cancel = r.cancel
	}
	t.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	return r != nil
}

// Close cancels the pending requests, except one whose id was used again. Later requests are not admitted.
func (t *Table) Close(why error) {
	t.mu.Lock()
	t.closed = true
	ids := slices.Collect(maps.Keys(t.pending))
	t.mu.Unlock()
	for _, id := range ids {
		t.Cancel(id, why)
	}
}
