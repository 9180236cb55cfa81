package acptermtest

// NewManager checks for leftovers of a manager when the test ends.

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
)

// NewManager returns a new manager. The manager is closed automatically at the end of the test, after running any
// functions that the test registered using Cleanup after the call to NewManager. The test fails if Close returns an
// error or if any of the following is left behind:
//
//   - a goroutine in acpterm code, if it was started after the call to NewManager by the test's goroutine or one of its
//     descendants; this includes any connection that the test did not close, and any goroutine of the test in Follow or
//     Wait;
//   - a process belonging to a command (on Linux);
//   - a file opened after the call to NewManager (on Linux).
//
// If a test creates more than one manager, only the first manager checks for goroutines and files, because it is the
// last one to be closed. It is not an error to leave a terminal unreleased. To check for unreleased terminals, call
// AllReleased.
//
// If Options.Runner is Commands or a Machine, NewManager calls Options.CommandsFor once with each of their keys, for
// the session "acptermtest". The test fails if the options returned for a command are invalid.
//
// If Options.Runner is nil, commands run in real processes. In that case, the test must not run in parallel with other
// tests, because processes and files are shared by the whole program. NewManager enforces this by calling t.Setenv,
// which panics in a parallel test. The call sets ACPTERMTEST to the name of the test, and commands inherit this
// variable.
func NewManager(t testing.TB, options *acpterm.Options) *acpterm.Manager {
	t.Helper()
	return newManager(t, options, 4*time.Second)
}

// newManager is NewManager with a time limit for each check.
func newManager(t testing.TB, options *acpterm.Options, wait time.Duration) *acpterm.Manager {
	t.Helper()
	var own acpterm.Options
	if options != nil {
		own = *options
	}
	checkCommandsFor(t, own)
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

// startedCommands collects the commands of a manager from its events.
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

// left returns the remaining processes.
func (c *startedCommands) left() []string {
	c.mu.Lock()
	ids, leaders := slices.Clone(c.ids), slices.Clone(c.leaders)
	c.mu.Unlock()
	return processesOf(ids, leaders)
}
