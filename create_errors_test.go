package acpterm_test

// Whose mistake it is that a command does not start, and what the error names.

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/stretchr/testify/require"
)

// createError is the error of a create as it is on the wire.
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

// copyOfChild is the test binary under another name.
func copyOfChild(t *testing.T, to string) acpterm.CreateTerminalRequest {
	t.Helper()
	program, err := os.ReadFile(executable())
	require.NoError(t, err)
	to += filepath.Ext(executable())
	require.NoError(t, os.WriteFile(to, program, 0o700))
	req := childRequest("print", "x")
	req.Command = to
	return req
}

// TimeoutFor is called when a command has been looked up and before it is started. What it removes is missing at the
// start.
func TestCreateWithoutWhatWasLookedUp(t *testing.T) {
	var remove string
	m := newManager(t, &acpterm.Options{TimeoutFor: func(acpterm.SessionID, acpterm.Command) time.Duration {
		if remove != "" {
			if err := os.RemoveAll(remove); err != nil {
				t.Error(err)
			}
		}
		return 0
	}})
	req := copyOfChild(t, filepath.Join(t.TempDir(), "program"))
	req.Cwd = filepath.Join(t.TempDir(), "dir")
	require.NoError(t, os.Mkdir(req.Cwd, 0o700))
	require.Equal(t, "x", run(t, m, req).Output)
	require.NoError(t, m.ReleaseSession(t.Context(), "s"))
	remove = req.Cwd
	require.Equal(t, createError{acpterm.ErrInvalidParams, "cwd", "", -32602}, failedCreate(t, m, req))
	remove, req.Cwd = req.Command, ""
	require.Equal(t, createError{acpterm.ErrCommandNotFound, "", req.Command, -32002}, failedCreate(t, m, req))
}

// A request without cwd has no part in what is wrong with the default directory.
func TestCreateInADefaultDirectoryThatIsWrong(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, dir := range []string{filepath.Join(t.TempDir(), "missing"), file} {
		hosts := createError{acpterm.ErrInternal, "", "", -32603}
		m := newManager(t, &acpterm.Options{Dir: dir})
		require.Equal(t, hosts, failedCreate(t, m, childRequest("pwd")), dir)
		req := childRequest("pwd")
		req.Cwd = dir
		require.Equal(t, createError{acpterm.ErrInvalidParams, "cwd", "", -32602}, failedCreate(t, m, req), dir)
		m = newManager(t, nil)
		require.NoError(t, m.OpenSession("s", &acpterm.SessionOptions{Dir: dir}))
		require.Equal(t, hosts, failedCreate(t, m, childRequest("pwd")), dir)
	}
}

// wrapFunc is a Sandbox.
type wrapFunc func(acpterm.Command) (acpterm.Wrapped, error)

func (f wrapFunc) Wrap(_ context.Context, p acpterm.Proposal) (acpterm.Wrapped, error) {
	return f(p.Command)
}

// The request does not name a Sandbox's program. What a Sandbox returns is an *Error in the end, and is found in it.
func TestCreateWithAWrapperThatFails(t *testing.T) {
	missing, cause := filepath.Join(t.TempDir(), "missing"), errors.New("no sandbox today")
	for name, c := range map[string]struct {
		wrap wrapFunc
		want createError
		err  error // in that of the create
	}{
		"a program that is gone": {func(c acpterm.Command) (acpterm.Wrapped, error) {
			c.Path, c.Args = missing, append([]string{missing}, c.Args...)
			return acpterm.Wrapped{Command: c}, nil
		}, createError{acpterm.ErrInternal, "", "", -32603}, acpterm.ErrInternal},
		"an error": {func(acpterm.Command) (acpterm.Wrapped, error) {
			return acpterm.Wrapped{}, cause
		}, createError{acpterm.ErrInternal, "", executable(), -32603}, cause},
		"an error of a kind": {func(acpterm.Command) (acpterm.Wrapped, error) {
			return acpterm.Wrapped{}, &acpterm.Error{Kind: acpterm.ErrDenied}
		}, createError{acpterm.ErrDenied, "", "", -32602}, acpterm.ErrDenied},
	} {
		t.Run(name, func(t *testing.T) {
			m := newManager(t, &acpterm.Options{Sandbox: c.wrap})
			require.Equal(t, c.want, failedCreate(t, m, childRequest("pwd")))
			_, err := m.Create(t.Context(), childRequest("pwd"), nil)
			require.ErrorIs(t, err, c.err)
		})
	}
}
