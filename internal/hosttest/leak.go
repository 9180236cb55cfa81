package hosttest

// Tests must leave nothing behind: a test starts everything through NewManager, which looks for processes, goroutines
// and descriptors once the manager is closed.

import (
	"os"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/leaktest"
	"github.com/stretchr/testify/require"
)

// NewManager returns a Manager and closes it at the end of the test. The test fails if the Manager leaves anything
// behind.
func NewManager(t testing.TB, options *acpterm.Options, hooks ...func(acpterm.Event)) *acpterm.Manager {
	t.Helper()
	if options == nil {
		options = new(acpterm.Options)
	}
	if options.Commands.Env == nil {
		options.Commands.Env = os.Environ()
	}
	end := func() error { return nil }
	options.Commands.Env = append(options.Commands.Env, leaktest.Watch(t, func() error { return end() }))
	m, err := acpterm.NewManager(options)
	require.NoError(t, err)
	end = m.Close
	for _, hook := range hooks {
		m.Observe(hook)
	}
	return m
}

// Must returns a value, or panics if err is not nil.
func Must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
