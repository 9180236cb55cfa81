package main

// What commands leave running when they end, such as a server that a line started with &. It may run until the command
// is released or the session ends, but with -timeout not longer than the command itself.

import (
	"context"
	"sync"
	"time"

	"github.com/acpterm/acpterm"
)

// leftovers ends what commands left running at their timeout. It does nothing without one.
type leftovers struct {
	manager *acpterm.Manager
	timeout time.Duration // from the start of a command

	mu     sync.Mutex
	timers map[acpterm.TerminalID]*time.Timer // of ended commands
}

// watchLeftovers watches a manager's commands until it is closed.
func watchLeftovers(m *acpterm.Manager, timeout time.Duration) {
	if timeout > 0 {
		l := &leftovers{manager: m, timeout: timeout, timers: make(map[acpterm.TerminalID]*time.Timer)}
		m.Observe(l.observe)
	}
}

func (l *leftovers) observe(event acpterm.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch e := event.(type) {
	case *acpterm.EndEvent:
		if e.Err == nil && e.EndedBy == acpterm.EndedByItself {
			l.timers[e.TerminalID] = time.AfterFunc(time.Until(e.Started.Add(l.timeout)), func() { l.end(e.Subject) })
		}
	case *acpterm.ReleaseEvent:
		if timer := l.timers[e.TerminalID]; timer != nil {
			timer.Stop()
			delete(l.timers, e.TerminalID)
		}
	}
}

// end ends the processes of a command, unless it has been released. The events report survivors.
func (l *leftovers) end(of acpterm.Subject) {
	if t, err := l.manager.Terminal(of.SessionID, of.TerminalID); err == nil {
		t.Kill(context.Background())
	}
}
