package terminaltest

// Errors of creates.

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/stretchr/testify/require"
)

func errorTests() []test {
	return []test{
		{"CreateWithoutWhatWasLookedUp", TestCreateWithoutWhatWasLookedUp},
		{"CreateInADefaultDirectoryThatIsWrong", TestCreateInADefaultDirectoryThatIsWrong},
	}
}

// CommandsFor is called between the look-up of a command and its start. Files that it removes are missing at the start.
func TestCreateWithoutWhatWasLookedUp(t *testing.T, p Place) {
	var remove string
	commandsFor := func(acpterm.SessionID, acpterm.Command) *acpterm.CommandOptions {
		if remove != "" {
			if err := p.removeAll(remove); err != nil {
				t.Error(err)
			}
		}
		return nil
	}
	m := p.NewManager(t, &acpterm.Options{CommandsFor: commandsFor})
	req := p.copyOfChild(t, filepath.Join(p.TempDir(t), "program"))
	req.Cwd = filepath.Join(p.TempDir(t), "dir")
	require.NoError(t, p.mkdir(req.Cwd, 0o700))
	require.Equal(t, "x", RunToEnd(t, m, req).Output)
	require.NoError(t, m.ReleaseSession(t.Context(), "s"))
	noDir := CreateError{acpterm.ErrInvalidParams, "cwd", "", -32602}
	noProgram := CreateError{acpterm.ErrCommandNotFound, "", req.Command, -32002}
	if !p.Local {
		noDir = CreateError{acpterm.ErrDenied, "", req.Command, -32602}
		noProgram = noDir
	}
	remove = req.Cwd
	require.Equal(t, noDir, FailedCreate(t, m, req))
	remove, req.Cwd = req.Command, ""
	require.Equal(t, noProgram, FailedCreate(t, m, req))

}

// A request without cwd is not blamed for a wrong default directory.
func TestCreateInADefaultDirectoryThatIsWrong(t *testing.T, p Place) {
	file := filepath.Join(p.TempDir(t), "file")
	require.NoError(t, p.writeFile(file, nil, 0o600))
	for _, dir := range []string{filepath.Join(p.TempDir(t), "missing"), file} {
		hosts := CreateError{acpterm.ErrInternal, "", "", -32603}
		m := p.NewManager(t, &acpterm.Options{Commands: acpterm.CommandOptions{Dir: dir}})
		require.Equal(t, hosts, FailedCreate(t, m, p.Child("pwd")), dir)
		req := p.Child("pwd")
		req.Cwd = dir
		require.Equal(t, CreateError{acpterm.ErrInvalidParams, "cwd", "", -32602}, FailedCreate(t, m, req), dir)
		m = p.NewManager(t, nil)
		require.NoError(t, m.OpenSession("s", &acpterm.SessionOptions{Commands: acpterm.CommandOptions{Dir: dir}}))
		require.Equal(t, hosts, FailedCreate(t, m, p.Child("pwd")), dir)
	}
}

// CreateError is the error of a create as sent on the wire.
type CreateError struct {
	Kind    acpterm.Kind
	Field   string
	Command string
	Code    int64
}

// FailedCreate returns the error of a create that must fail and leave nothing.
func FailedCreate(t *testing.T, m *acpterm.Manager, req acpterm.CreateTerminalRequest) CreateError {
	t.Helper()
	_, err := m.Create(t.Context(), req, nil)
	require.Error(t, err)
	require.Empty(t, m.Terminals())
	e, ok := errors.AsType[*acpterm.Error](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, "create", e.Op)
	return CreateError{e.Kind, e.Field, e.Command, acpterm.ResponseError(err).Code}
}

// copyOfChild returns a request for a copy of the children's program under another name.
func (p Place) copyOfChild(t *testing.T, to string) acpterm.CreateTerminalRequest {
	t.Helper()
	program, err := os.ReadFile(p.path(p.Program))
	require.NoError(t, err)
	to += filepath.Ext(p.Program)
	require.NoError(t, p.writeFile(to, program, 0o700))
	req := p.Child("print", "x")
	req.Command = to
	return req
}
