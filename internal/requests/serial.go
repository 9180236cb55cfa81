package requests

import "sync"

// Serial calls functions one after another, in the order of Do. The zero value is ready to use.
type Serial struct {
	mu    sync.Mutex
	queue []func() // the first one is being called
}

// Do queues a function and returns. A goroutine calls the functions while some are queued. Calls may be concurrent.
func (s *Serial) Do(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, f)
	if len(s.queue) == 1 {
		go s.run()
	}
}

func (s *Serial) run() {
	for f := s.first(); f != nil; f = s.next() {
		f()
	}
}

func (s *Serial) first() func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queue[0]
}

// next removes the function just called, and returns the one after it, or nil.
func (s *Serial) next() func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue[0] = nil // so that the array does not keep it alive
	if s.queue = s.queue[1:]; len(s.queue) == 0 {
		return nil
	}
	return s.queue[0]
}
