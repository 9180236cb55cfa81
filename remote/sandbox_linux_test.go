package remote

// Commands in the sandbox of the remote side.

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/bubblewrap"
)

// newSandboxed returns a Manager whose commands run in a sandbox of the remote side, with a session s that has a root.
func newSandboxed(t *testing.T, o bubblewrap.Options) (m *acpterm.Manager, root string) {
	t.Helper()
	if _, err := bubblewrap.New(nil); err != nil {
		if os.Getenv("ACPTERM_REQUIRE_BUBBLEWRAP") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	far := newFarEnd("sh")
	t.Cleanup(func() { far.requireNothing(t) })
	r := newRunner(t, Options{Transport: far, Helpers: realHelpers(t), Dir: t.TempDir(), Sandbox: &o})
	m, err := acpterm.NewManager(&acpterm.Options{Runner: r})
	require.NoError(t, err)
	t.Cleanup(func() { m.Close() })
	root, err = filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, m.OpenSession("s", &acpterm.SessionOptions{Roots: []string{root}}))
	return m, root
}

// A command writes to the session's roots only, sees its own processes only, and nothing hidden. Its exit status and
// its variables arrive.
func TestRemoteSandbox(t *testing.T) {
	outside, err := os.MkdirTemp("/var/tmp", "acpterm-")
	require.NoError(t, err)
	defer func() { require.NoError(t, os.RemoveAll(outside)) }()
	hidden, err := os.MkdirTemp("/var/tmp", "acpterm-")
	require.NoError(t, err)
	defer func() { require.NoError(t, os.RemoveAll(hidden)) }()
	require.NoError(t, os.WriteFile(filepath.Join(hidden, "secret"), nil, 0o600))
	m, root := newSandboxed(t, bubblewrap.Options{Hidden: []string{hidden}})
	request := lineRequest(`pwd; echo "$X $0"; echo x > in && cat in; echo x > "$1/out" || echo refused; ls "$2"
		ls /proc | grep -c '^[0-9]'; exit 7`)
	request.Args = append(request.Args, "me", outside, hidden)
	request.Env = []acpterm.EnvVariable{{Name: "X", Value: "1"}}
	for _, pty := range []*acpterm.PTYOptions{nil, {Columns: 200}} {
		terminal, err := m.Create(testContext(t), request, &acpterm.CommandOptions{PTY: pty})
		require.NoError(t, err)
		status, err := terminal.Wait(testContext(t))
		require.NoError(t, err)
		require.EqualValues(t, 7, *status.ExitCode)
		require.Regexp(t, "^"+root+"\n1 me\nx\n.*\nrefused\n[2-6]\n$", terminal.Output().Output)
		_, err = os.Stat(filepath.Join(outside, "out"))
		require.ErrorIs(t, err, os.ErrNotExist)
	}
	request.Cwd = root
	require.NoError(t, m.CloseSession(testContext(t), "s"))
	require.NoError(t, m.OpenSession("s", nil)) // without roots, nothing is writable
	terminal, err := m.Create(testContext(t), request, nil)
	if err == nil { // the root is in /tmp, which is private
		_, err = terminal.Wait(testContext(t))
	}
	require.ErrorIs(t, err, acpterm.ErrInvalidParams)
	require.Equal(t, "cwd", err.(*acpterm.Error).Field)
}

// A kill and an exit end everything in the sandbox.
func TestRemoteSandboxEnds(t *testing.T) {
	m, _ := newSandboxed(t, bubblewrap.Options{})
	for _, line := range []string{
		"echo ready; sleep 1000", "trap '' TERM; (setsid sleep 1000 &) ; echo ready; while :; do sleep 1; done",
	} {
		terminal, err := m.Create(testContext(t), lineRequest(line), &acpterm.CommandOptions{
			Escalation: []acpterm.EscalationStep{},
		})
		require.NoError(t, err)
		waitOutput(t, terminal, "ready\n")
		require.NoError(t, terminal.Kill(testContext(t)))
	}
	terminal := create(t, m, "(setsid sleep 1000 &); echo ready")
	_, err := terminal.Wait(testContext(t))
	require.NoError(t, err)
	require.NoError(t, terminal.Kill(testContext(t)))
}

// If the sandbox cannot be made, nothing runs, and the host is to blame.
func TestRemoteSandboxThatCannotBeMade(t *testing.T) {
	m, root := newSandboxed(t, bubblewrap.Options{Writable: []string{"/nothing/here"}})
	_, err := m.Create(testContext(t), lineRequest("touch ran"), nil)
	require.ErrorIs(t, err, acpterm.ErrInternal)
	require.Equal(t, "Options.Sandbox.Writable[0]", err.(*acpterm.Error).Field)
	_, err = os.Stat(filepath.Join(root, "ran"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
