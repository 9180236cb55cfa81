// Package latch provides a Latch: an event that happens once, available as a channel and as callbacks.
package latch

import (
	"container/list"
	"sync"
)

// Latch is an event that happens at most once. Setting it closes Done and calls the functions of OnSet, so no goroutine
// has to wait. The zero value is not set. It must not be copied. Its methods are safe for concurrent use.
type Latch struct {
	mu        sync.Mutex
	set       bool
	done      chan struct{} // nil until Done is called
	functions list.List     // of func(), in the order of their calls; only Set uses it once set is true
}

// Set sets the latch, closes Done, and calls the functions registered with OnSet in order. A second call does nothing.
func (l *Latch) Set() {
	l.mu.Lock()
	if l.set {
		l.mu.Unlock()
		return
	}
	l.set = true
	if l.done != nil {
		close(l.done)
	}
	l.mu.Unlock()
	for e := l.functions.Front(); e != nil; e = l.functions.Front() {
		l.functions.Remove(e).(func())() // removed, so that the latch keeps nothing alive that they refer to
	}
}

// IsSet reports whether Set was called.
func (l *Latch) IsSet() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.set
}

// Done returns a channel that Set closes.
func (l *Latch) Done() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done == nil {
		l.done = make(chan struct{})
		if l.set {
			close(l.done)
		}
	}
	return l.done
}

// OnSet registers f, which Set calls in Set's goroutine. If the latch is already set, OnSet calls f immediately. f must
// not block. stop removes f, and reports whether it did so before f was called.
func (l *Latch) OnSet(f func()) (stop func() bool) {
	l.mu.Lock()
	if l.set {
		l.mu.Unlock()
		f()
		return func() bool { return false }
	}
	defer l.mu.Unlock()
	e := l.functions.PushBack(f)
	return func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		waiting := !l.set && e.Value != nil
		if waiting {
			l.functions.Remove(e)
			e.Value = nil
		}
		return waiting
	}
}

// IsClosed reports whether a channel is closed. It may be nil.
func IsClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
