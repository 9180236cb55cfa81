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
	_, err := m.Create(t.Context(), req)
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
	for _, dir := range []string{"relative", filepath.Join(t.TempDir(), "missing"), file} {
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

// wrapperTo is a Wrapper that runs a program in place of the command's.
type wrapperTo string

func (w wrapperTo) Wrap(_ context.Context, p acpterm.Proposal) (acpterm.Wrapped, error) {
	c := p.Command
	c.Path, c.Args = string(w), append([]string{string(w)}, c.Args...)
	return acpterm.Wrapped{Command: c}, nil
}

// The request does not name a Wrapper's program.
func TestCreateWithAWrapperThatIsGone(t *testing.T) {
	m := newManager(t, &acpterm.Options{Wrap: wrapperTo(filepath.Join(t.TempDir(), "missing"))})
	require.Equal(t, createError{acpterm.ErrInternal, "", "", -32603}, failedCreate(t, m, childRequest("pwd")))
}

// failingWrapper is a Wrapper that always fails.
type failingWrapper struct{ err error }

func (w failingWrapper) Wrap(context.Context, acpterm.Proposal) (acpterm.Wrapped, error) {
	return acpterm.Wrapped{}, w.err
}

// What a Wrapper returns is an *Error in the end, and is found in it.
func TestCreateWithAWrapperThatFails(t *testing.T) {
	cause := errors.New("no sandbox today")
	m := newManager(t, &acpterm.Options{Wrap: failingWrapper{cause}})
	require.Equal(t, acpterm.ErrInternal, failedCreate(t, m, childRequest("pwd")).kind)
	_, err := m.Create(t.Context(), childRequest("pwd"))
	require.ErrorIs(t, err, cause)
	m = newManager(t, &acpterm.Options{Wrap: failingWrapper{&acpterm.Error{Kind: acpterm.ErrDenied}}})
	require.Equal(t, acpterm.ErrDenied, failedCreate(t, m, childRequest("pwd")).kind)
}
