package embedtest

import (
	"errors"
	"os"
	"testing"

	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/acpterm/acpterm/internal/terminaltest"

	"github.com/acpterm/acpterm"
	"github.com/stretchr/testify/require"
)

// A text file as the program is the request's mistake. Options without an effect on Windows are the host's.
func TestCreateErrorsOnWindows(t *testing.T) {
	text := hosttest.NotAProgram(t)
	withFile := wrapFunc(func(c acpterm.Command) (acpterm.Wrapped, error) {
		file, err := os.Open(os.DevNull)
		return acpterm.Wrapped{Command: c, Files: []*os.File{file}}, err
	})
	m := hosttest.NewManager(t, nil)
	want := terminaltest.CreateError{Kind: acpterm.ErrNotExecutable, Field: "command", Command: text, Code: -32602}
	require.Equal(t, want, terminaltest.FailedCreate(t, m, hosttest.CommandRequest(text)))
	for option, options := range map[string]*acpterm.Options{
		"cgroups":         {Cgroup: "x"},
		"inherited files": {Commands: acpterm.CommandOptions{Sandbox: withFile}},
	} {
		m := hosttest.NewManager(t, options)
		req := hosttest.ChildRequest("sleep")
		want := terminaltest.CreateError{Kind: acpterm.ErrInternal, Command: req.Command, Code: -32603}
		require.Equal(t, want, terminaltest.FailedCreate(t, m, req))
		_, err := m.Create(t.Context(), req, nil)
		require.ErrorIs(t, err, errors.ErrUnsupported)
		require.ErrorContains(t, err, option)
	}
}
