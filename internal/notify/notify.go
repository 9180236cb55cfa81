// Package notify calls observers with events, in order, from one goroutine, so that code that adds an event does not
// wait for them. It imports only the standard library. Observers must not panic.
package notify

import (
	"slices"
	"sync"
)

// Queue holds events until every observer has been called with them. The zero value is ready to use. Its methods may be
// called concurrently. Only Wait and an observer's stop function block.
type Queue[E any] struct {
	mu        sync.Mutex
	observers []*observer[E] // replaced, never changed
	called    chan struct{}  // closed when the observers have returned from the current event; nil between events
	events    []queued[E]
	waiting   Size          // total size of events
	drained   chan struct{} // closed when deliver returns; nil while it is not running
}

// Size is the memory held by an event: its own bytes, and the output it points to.
type Size struct{ Bytes, Output int64 }

type queued[E any] struct {
	event E
	size  Size
}

// observer is a function called with events. Its address is its identity.
type observer[E any] struct{ call func(E) }

// Observe adds a function, which is called after the earlier ones. stop removes the function, and returns when it is
// not running and will not be called again. Observers must not call stop.
func (q *Queue[E]) Observe(call func(E)) (stop func()) {
	o := &observer[E]{call}
	q.mu.Lock()
	q.observers = append(slices.Clone(q.observers), o)
	q.mu.Unlock()
	return func() {
		q.mu.Lock()
		isThis := func(other *observer[E]) bool { return other == o }
		q.observers = slices.DeleteFunc(slices.Clone(q.observers), isThis)
		called := q.called
		q.mu.Unlock()
		if called != nil {
			<-called
		}
	}
}

// Observed reports whether there is an observer.
func (q *Queue[E]) Observed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.observers) > 0
}

// Add queues an event if there is an observer. The goroutine that calls the observers exists only while events wait.
func (q *Queue[E]) Add(event E, size Size) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.observers) == 0 {
		return
	}
	q.events = append(q.events, queued[E]{event, size})
	q.waiting.Bytes += size.Bytes
	q.waiting.Output += size.Output
	if q.drained == nil {
		q.drained = make(chan struct{})
		go q.deliver()
	}
}

func (q *Queue[E]) deliver() {
	for {
		q.mu.Lock()
		if len(q.events) == 0 {
			close(q.drained)
			q.drained, q.events = nil, nil
			q.mu.Unlock()
			return
		}
		next := q.events[0]
		q.events[0] = queued[E]{} // so that the array does not keep it alive
		q.events = q.events[1:]
		q.waiting.Bytes -= next.size.Bytes
		q.waiting.Output -= next.size.Output
		observers, called := q.observers, make(chan struct{})
		q.called = called
		q.mu.Unlock()
		for _, o := range observers {
			o.call(next.event)
		}
		q.mu.Lock()
		q.called = nil
		q.mu.Unlock()
		close(called)
	}
}

// Wait returns when the observers have returned from the last event.
func (q *Queue[E]) Wait() {
	q.mu.Lock()
	drained := q.drained
	q.mu.Unlock()
	if drained != nil {
		<-drained
	}
}

// Waiting returns the number of events not yet passed to any observer, and their size.
func (q *Queue[E]) Waiting() (n int, size Size) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.events), q.waiting
}
