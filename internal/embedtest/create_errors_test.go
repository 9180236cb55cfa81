package embedtest

// Errors of commands that do not start: who made the mistake, and the names in the error.

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/acpterm/acpterm/internal/hosttest"

	"github.com/acpterm/acpterm"
	"github.com/stretchr/testify/require"
)

// createError is the error of a create as sent on the wire.
type createError struct {
	kind    acpterm.Kind
	field   string
	command string
	code    int64
}

// failedCreate returns the error of a create that must fail and leave nothing.
func failedCreate(t *testing.T, m *acpterm.Manager, req acpterm.CreateTerminalRequest) createError {
	t.Helper()
	_, err := m.Create(t.Context(), req, nil)
	require.Error(t, err)
	require.Empty(t, m.Terminals())
	e, ok := errors.AsType[*acpterm.Error](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, "create", e.Op)
	return createError{e.Kind, e.Field, e.Command, acpterm.ResponseError(err).Code}
}

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
		want createError
		err  error // wrapped by the create's error
	}{
		"a program that is gone": {func(c acpterm.Command) (acpterm.Wrapped, error) {
			c.Path, c.Args = missing, append([]string{missing}, c.Args...)
			return acpterm.Wrapped{Command: c}, nil
		}, createError{acpterm.ErrInternal, "", "", -32603}, acpterm.ErrInternal},
		"an error": {func(acpterm.Command) (acpterm.Wrapped, error) {
			return acpterm.Wrapped{}, cause
		}, createError{acpterm.ErrInternal, "", hosttest.Executable(), -32603}, cause},
		"an error of a kind": {func(acpterm.Command) (acpterm.Wrapped, error) {
			return acpterm.Wrapped{}, &acpterm.Error{Kind: acpterm.ErrDenied}
		}, createError{acpterm.ErrDenied, "", "", -32602}, acpterm.ErrDenied},
	} {
		t.Run(name, func(t *testing.T) {
			m := hosttest.NewManager(t, &acpterm.Options{Commands: acpterm.CommandOptions{Sandbox: c.wrap}})
			require.Equal(t, c.want, failedCreate(t, m, hosttest.ChildRequest("pwd")))
			_, err := m.Create(t.Context(), hosttest.ChildRequest("pwd"), nil)
			require.ErrorIs(t, err, c.err)
		})
	}
}
