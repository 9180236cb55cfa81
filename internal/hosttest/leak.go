package hosttest

// After every test nothing of it is left: what a test starts, it starts through newManager, which looks for
// processes, goroutines and descriptors once the manager is closed.

import (
	"os"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/leaktest"
	"github.com/stretchr/testify/require"
)

// NewManager returns a Manager that is closed at the end of the test; the test fails if it leaves anything.
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

// Must returns a value and panics for an error.
func Must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
