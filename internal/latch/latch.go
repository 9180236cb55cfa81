// Package latch has a Latch: an event that happens once, as a channel and as functions to call. It imports the standard
// library alone.
package latch

import (
	"container/list"
	"sync"
)

// Latch is set once. Done is closed then, and the functions of OnSet are called, so that nothing needs a goroutine to
// wait for it. The zero value is not set. It must not be copied. Its methods may be called concurrently.
type Latch struct {
	mu        sync.Mutex
	set       bool
	done      chan struct{} // nil until Done is called
	functions list.List     // of func(), in the order in which they are called; Set's own once set is true
}

// Set sets the latch, closes Done and calls the functions of OnSet in their order. A second call does nothing.
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
		l.functions.Remove(e).(func())() // removed, so that the latch keeps alive nothing that they refer to
	}
}

// IsSet reports whether Set was called.
func (l *Latch) IsSet() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.set
}

// Done is a channel that is closed by Set.
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

// OnSet has f called by Set, in Set's goroutine, or calls it at once if the latch is set. f must not block. stop
// removes f and reports whether f was removed before it was called.
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
