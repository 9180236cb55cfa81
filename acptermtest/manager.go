package acptermtest

// A manager that may leave nothing behind.

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/acpterm/acpterm"
)

// NewManager returns a manager that is closed when the test ends, after whatever the test registers with Cleanup later.
// The test fails if the manager cannot end a command, or if then there is still
//
//   - a goroutine in code of acpterm that the test's own goroutine, or one which that started, has started since: also
//     the test's connection that was not closed, and its own goroutine in a Follow or a Wait;
//   - a process of a command (looked for on Linux; elsewhere the manager's own word is all there is);
//   - an open file more than before (likewise).
//
// With several managers in one test it is the first that looks for goroutines and files, when it is closed, which is
// last. Terminals that are not released are no failure; if your program has to release them, see that Terminals returns
// none.
//
// Without Options.Runner the commands are real. Their processes and files are the whole program's, so such a test must
// not run in parallel with others: NewManager calls Setenv, for which the testing package sees to that. The variable is
// ACPTERMTEST, the test's name, for the commands to inherit.
func NewManager(t testing.TB, options *acpterm.Options) *acpterm.Manager {
	t.Helper()
	var own acpterm.Options
	if options != nil {
		own = *options
	}
	started := &commands{next: own.Events}
	own.Events = started.event
	var before files
	if own.Runner == nil {
		t.Setenv("ACPTERMTEST", t.Name())
		before = openFiles()
	}
	goroutines, first := mark(t)
	m := acpterm.NewManager(&own)
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Errorf("acptermtest: the manager's Close: %v", err)
		}
		for _, check := range []struct {
			what  string
			wants bool
			left  func() []string
		}{
			{"goroutines", first, goroutines.left},
			{"processes", own.Runner == nil, started.left},
			{"files", first && own.Runner == nil, before.more},
		} {
			if !check.wants {
				continue
			}
			if left := eventuallyNone(check.left); len(left) > 0 {
				t.Errorf("acptermtest: %s are left:\n\n%s", check.what, strings.Join(left, "\n\n"))
			}
		}
	})
	return m
}

// commands are those that a manager was told to run: a hook for events, before the test's own.
type commands struct {
	next func(acpterm.Event) // nil: there is none

	mu      sync.Mutex
	ids     []acpterm.TerminalID
	leaders []int
}

func (c *commands) event(e acpterm.Event) {
	c.mu.Lock()
	switch e := e.(type) {
	case *acpterm.DecisionEvent:
		c.ids = append(c.ids, e.TerminalID)
	case *acpterm.EndEvent:
		c.leaders = append(c.leaders, e.PID)
	}
	c.mu.Unlock()
	if c.next != nil {
		c.next(e)
	}
}

// left are the processes that there still are.
func (c *commands) left() []string {
	c.mu.Lock()
	ids, leaders := slices.Clone(c.ids), slices.Clone(c.leaders)
	c.mu.Unlock()
	return processesOf(ids, leaders)
}
