package acpterm

// Something that happens once.

import (
	"container/list"
	"sync"
)

// moment is something that happens once: there is a channel that is closed then, and there are functions that are called
// then, so that nobody needs a goroutine to wait for it. The zero value has not happened. It must not be copied. Its
// methods may be called concurrently.
type moment struct {
	mu        sync.Mutex
	over      bool
	done      chan struct{} // nil until somebody asks for it
	reactions list.List     // of func(), in the order in which they are to be called; happen's own once it is over
}

// happen has it happen, and calls what was to be called then, in order. A second time does nothing.
func (m *moment) happen() {
	m.mu.Lock()
	if m.over {
		m.mu.Unlock()
		return
	}
	m.over = true
	if m.done != nil {
		close(m.done)
	}
	m.mu.Unlock()
	for r := m.reactions.Front(); r != nil; r = m.reactions.Front() {
		m.reactions.Remove(r).(func())() // and whoever keeps the moment keeps nothing of theirs
	}
}

// happened reports whether it has.
func (m *moment) happened() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.over
}

// Done is a channel that is closed when it happens.
func (m *moment) Done() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.done == nil {
		m.done = make(chan struct{})
		if m.over {
			close(m.done)
		}
	}
	return m.done
}

// then has a function called when it happens, by whoever makes it happen, or at once by the caller if it has: the function
// must not wait. stop prevents that, and reports whether it has.
func (m *moment) then(f func()) (stop func() bool) {
	m.mu.Lock()
	if m.over {
		m.mu.Unlock()
		f()
		return func() bool { return false }
	}
	defer m.mu.Unlock()
	r := m.reactions.PushBack(f)
	return func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		waiting := !m.over && r.Value != nil
		if waiting {
			m.reactions.Remove(r)
			r.Value = nil
		}
		return waiting
	}
}
