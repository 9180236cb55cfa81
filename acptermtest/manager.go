package acptermtest

// NewManager, which checks what a manager leaves behind.

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
)

// NewManager returns a manager that is closed when the test ends, after the functions that the test registers with
// Cleanup later. The test fails if Close fails, or if after it there is still
//
//   - a goroutine in code of acpterm, started since by the test's goroutine or by one that it started; that includes a
//     connection that the test did not close, and a goroutine of the test in Follow or Wait;
//   - a process of a command (on Linux);
//   - a file that was opened since (on Linux).
//
// Of several managers in one test the first, which is closed last, checks goroutines and files. Terminals that are not
// released are no failure; a test can check that Terminals returns none.
//
// Without Options.Runner the commands are real. Such a test must not run in parallel with others, since processes and
// files belong to the whole program; NewManager calls t.Setenv, which panics in a parallel test. It sets ACPTERMTEST to
// the test's name, and the commands inherit it.
func NewManager(t testing.TB, options *acpterm.Options) *acpterm.Manager {
	t.Helper()
	return newManager(t, options, 4*time.Second)
}

// newManager is NewManager with how long each check waits until nothing is left.
func newManager(t testing.TB, options *acpterm.Options, wait time.Duration) *acpterm.Manager {
	t.Helper()
	var own acpterm.Options
	if options != nil {
		own = *options
	}
	var before files
	if own.Runner == nil {
		t.Setenv("ACPTERMTEST", t.Name())
		before = openFiles()
	}
	goroutines, first := labelGoroutines(t)
	m, err := acpterm.NewManager(&own)
	if err != nil {
		t.Fatal(err)
	}
	started := new(startedCommands)
	m.Observe(started.event)
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Errorf("acptermtest: the manager's Close: %v", err)
		}
		for _, check := range []struct {
			name    string
			applies bool
			left    func() []string
		}{
			{"goroutines", first, goroutines.left},
			{"processes", own.Runner == nil, started.left},
			{"files", first && own.Runner == nil, before.left},
		} {
			if !check.applies {
				continue
			}
			if left := retryUntilNone(check.left, wait); len(left) > 0 {
				t.Errorf("acptermtest: %s are left:\n\n%s", check.name, strings.Join(left, "\n\n"))
			}
		}
	})
	return m
}

// startedCommands records the commands of a manager from its events.
type startedCommands struct {
	mu      sync.Mutex
	ids     []acpterm.TerminalID
	leaders []int
}

func (c *startedCommands) event(e acpterm.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch e := e.(type) {
	case *acpterm.DecisionEvent:
		c.ids = append(c.ids, e.TerminalID)
	case *acpterm.EndEvent:
		c.leaders = append(c.leaders, e.PID)
	}
}

// left returns the processes that still exist.
func (c *startedCommands) left() []string {
	c.mu.Lock()
	ids, leaders := slices.Clone(c.ids), slices.Clone(c.leaders)
	c.mu.Unlock()
	return processesOf(ids, leaders)
}
