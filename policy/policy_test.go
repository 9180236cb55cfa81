package policy_test

// Attacks on the ready-made policies. Each test fails without its guard.

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/acpterm/acpterm/internal/racetest"
	"github.com/acpterm/acpterm/policy"
)

func TestMain(m *testing.M) { racetest.Main(m) }

func TestConfineDir(t *testing.T) {
	dir := hosttest.RealTempDir(t)
	root, other := filepath.Join(dir, "a"), filepath.Join(dir, "other")
	for _, name := range []string{"a/below", "ab", "other"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, name), 0o700))
	}
	given := root
	if runtime.GOOS != "windows" {
		given = filepath.Join(dir, "link")
		require.NoError(t, os.Symlink("a", given))
	}
	confined, err := policy.ConfineDir(given, other)
	require.NoError(t, err)
	for cwd, want := range map[string]acpterm.Verdict{
		root: acpterm.VerdictAllow, filepath.Join(root, "below"): acpterm.VerdictAllow, other: acpterm.VerdictAllow,
		dir: acpterm.VerdictDeny, filepath.Join(dir, "ab"): acpterm.VerdictDeny,
		"": acpterm.VerdictDeny, // the directory that a Runner chooses
	} {
		p := acpterm.Proposal{Command: acpterm.Command{Dir: cwd}}
		d := confined.Decide(t.Context(), p)
		require.Equal(t, want, d.Verdict, cwd)
		require.Equal(t, "roots", d.Rule)
		p.DirUnknown = true
		require.Equal(t, acpterm.VerdictDeny, confined.Decide(t.Context(), p).Verdict, cwd)
	}
	file, err := os.Executable()
	require.NoError(t, err)
	for _, wrong := range []string{"a", "", filepath.Join(dir, "missing"), file} {
		_, err := policy.ConfineDir(root, wrong)
		require.ErrorIs(t, err, acpterm.ErrInvalidParams)
		require.ErrorContains(t, err, "roots[1]")
	}
}

func TestNoShell(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("other shells, the same code")
	}
	dir := hosttest.RealTempDir(t)
	require.NoError(t, os.Symlink("/bin/sh", filepath.Join(dir, "innocent")))
	require.NoError(t, os.Symlink("/bin/true", filepath.Join(dir, "zsh")))
	m := acptermtest.NewManager(t, &acpterm.Options{Policy: policy.NoShell()})
	for _, c := range []struct {
		command string
		args    []string
		want    bool
	}{
		{"true", nil, true}, {"true", []string{"a;b"}, true},
		{"true && true", nil, false}, {"sh", []string{"-c", "true"}, false}, {"/bin/sh", []string{"x"}, false},
		{filepath.Join(dir, "innocent"), []string{"x"}, false}, // by its file
		{filepath.Join(dir, "zsh"), []string{"x"}, false},      // by its name
	} {
		_, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: c.command, Args: c.args}, nil)
		require.Equal(t, c.want, err == nil, "%+v: %v", c, err)
	}
}

// A policy does not panic on a command without arguments.
func TestProposalWithoutArguments(t *testing.T) {
	confined, err := policy.ConfineDir(hosttest.RealTempDir(t))
	require.NoError(t, err)
	rules := policy.Rules{Rules: []policy.Rule{{Name: "none", Verdict: acpterm.VerdictAllow, Args: []string{}}}}
	compiled, err := rules.Compile(nil)
	require.NoError(t, err)
	for _, p := range []acpterm.Policy{
		confined, compiled, policy.NoShell(), policy.AllowVariables(), policy.DenyVariables("*"),
	} {
		p.Decide(t.Context(), acpterm.Proposal{})
	}
}
