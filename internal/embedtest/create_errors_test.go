package embedtest

// Errors of commands that do not start: who made the mistake, and the names in the error.

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/acpterm/acpterm/internal/terminaltest"

	"github.com/acpterm/acpterm"
	"github.com/stretchr/testify/require"
)

// wrapFunc is a Sandbox.
type wrapFunc func(acpterm.Command) (acpterm.Wrapped, error)

func (f wrapFunc) Wrap(_ context.Context, p acpterm.Proposal) (acpterm.Wrapped, error) {
	return f(p.Command)
}

// A request does not name the program of a Sandbox. An error of a Sandbox becomes an *Error that wraps it.
func TestCreateWithAWrapperThatFails(t *testing.T) {
	missing, cause := filepath.Join(t.TempDir(), "missing"), errors.New("no sandbox today")
	for name, c := range map[string]struct {
		wrap wrapFunc
		want terminaltest.CreateError
		err  error // wrapped by the create's error
	}{
		"a program that is gone": {func(c acpterm.Command) (acpterm.Wrapped, error) {
			c.Path, c.Args = missing, append([]string{missing}, c.Args...)
			return acpterm.Wrapped{Command: c}, nil
		}, terminaltest.CreateError{Kind: acpterm.ErrInternal, Code: -32603}, acpterm.ErrInternal},
		"an error": {func(acpterm.Command) (acpterm.Wrapped, error) {
			return acpterm.Wrapped{}, cause
		}, terminaltest.CreateError{Kind: acpterm.ErrInternal, Command: hosttest.Executable(), Code: -32603}, cause},
		"an error of a kind": {func(acpterm.Command) (acpterm.Wrapped, error) {
			return acpterm.Wrapped{}, &acpterm.Error{Kind: acpterm.ErrDenied}
		}, terminaltest.CreateError{Kind: acpterm.ErrDenied, Code: -32602}, acpterm.ErrDenied},
	} {
		t.Run(name, func(t *testing.T) {
			m := hosttest.NewManager(t, &acpterm.Options{Commands: acpterm.CommandOptions{Sandbox: c.wrap}})
			require.Equal(t, c.want, terminaltest.FailedCreate(t, m, hosttest.ChildRequest("pwd")))
			_, err := m.Create(t.Context(), hosttest.ChildRequest("pwd"), nil)
			require.ErrorIs(t, err, c.err)
		})
	}
}
