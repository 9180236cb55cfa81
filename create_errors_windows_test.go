package acpterm_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/stretchr/testify/require"
)

// withFile is a Wrapper that has the command inherit a file.
type withFile struct{ t *testing.T }

func (w withFile) Wrap(_ context.Context, p acpterm.Proposal) (acpterm.Wrapped, error) {
	file, err := os.Open(os.DevNull)
	require.NoError(w.t, err)
	return acpterm.Wrapped{Command: p.Command, Files: []*os.File{file}}, nil
}

// A file that is not a program is the request's mistake; options that have no effect on Windows are the host's.
func TestCreateErrorsOnWindows(t *testing.T) {
	text := notAProgram(t)
	m := newManager(t, nil)
	require.Equal(t, createError{acpterm.ErrNotExecutable, "command", text, -32602},
		failedCreate(t, m, acpterm.CreateTerminalRequest{SessionID: "s", Command: text}))
	for option, options := range map[string]*acpterm.Options{
		"cgroups":         {Cgroup: "x"},
		"inherited files": {Wrap: withFile{t}},
	} {
		m := newManager(t, options)
		req := childRequest("sleep")
		require.Equal(t, createError{acpterm.ErrInternal, "", req.Command, -32603}, failedCreate(t, m, req))
		_, err := m.Create(t.Context(), req)
		require.ErrorIs(t, err, errors.ErrUnsupported)
		require.ErrorContains(t, err, option)
	}
}
