package shell_test

// The policy with real rules and the programs of this machine.

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/policy"
	"github.com/acpterm/acpterm/policy/shell"
	"github.com/stretchr/testify/require"
)

// mayRun reports whether a command may run, and the error if it is denied. Any other error fails the test.
func mayRun(t *testing.T, m *acpterm.Manager, req acpterm.CreateTerminalRequest) (may bool, reason string) {
	t.Helper()
	req.SessionID = "s"
	_, err := m.Create(t.Context(), req, nil)
	if err == nil {
		return true, ""
	}
	require.ErrorIs(t, err, acpterm.ErrDenied)
	return false, err.Error()
}

// allowing returns rules that allow programs.
func allowing(programs ...string) (rules []policy.Rule) {
	for _, program := range programs {
		rules = append(rules, policy.Rule{Name: program, Verdict: acpterm.VerdictAllow, Program: program})
	}
	return rules
}

// allowed returns a policy that allows some programs, and git with two of its commands.
func allowed(t testing.TB, bin string) acpterm.Policy {
	rules := policy.Rules{Rules: append(allowing("cat", "env", "xargs", "sh"), []policy.Rule{
		{Name: "git status", Verdict: acpterm.VerdictAllow, Program: "git", Args: []string{"status"}},
		{Name: "git log", Verdict: acpterm.VerdictAllow, Program: "git", Args: []string{"log", "..."}},
		{Name: "no force", Verdict: acpterm.VerdictDeny, Program: "git", AnyArg: []string{"--force*", "-f"}},
		{Name: "ask to build", Verdict: acpterm.VerdictAsk, Program: "make"},
	}...)}
	compiled, err := rules.Compile([]string{"PATH=" + bin + ":/usr/bin:/bin"})
	require.NoError(t, err)
	variables := policy.DenyVariables("LD_*", "GIT_*", "PATH", "BASH_ENV")
	return shell.NewPolicy(acpterm.Policies{compiled, variables}, nil)
}

func TestLinesUnderRules(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("all lines are denied, since cmd.exe runs them")
	}
	bin, root := t.TempDir(), t.TempDir()
	for _, name := range []string{"git", "make", "rm"} {
		require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\nexit 0\n"), 0o700))
	}
	require.NoError(t, os.WriteFile(filepath.Join(root, "git"), []byte("#!/bin/sh\nexit 0\n"), 0o700))
	m := acptermtest.NewManager(t, &acpterm.Options{
		Commands: acpterm.CommandOptions{Env: []string{"PATH=" + bin + ":/usr/bin:/bin"}}, Policy: allowed(t, bin),
	})
	require.NoError(t, m.OpenSession("s", &acpterm.SessionOptions{Roots: []string{root}}))

	for line, want := range map[string]bool{
		"git status":                       true,
		"git status && git log -n 5 | cat": true,
		"git log \"$(git status)\"":        false, // an unknown argument may be --force
		`sh -c "git status | cat"`:         true,
		"env A=b git status":               true,
		`\g\it status`:                     true,
		`g''it stat"us"`:                   true,

		"git status; git push":              false,
		"git log --force-with-lease":        false,
		"git log $X":                        false, // may be --force
		"env GIT_SSH_COMMAND=rm git status": false,
		"./git status":                      false,
		"cat x | xargs git status":          false, // xargs appends arguments
		"git\u200b status && cat x":         false,
		"gіt status | cat":                  false, // Cyrillic
		"no-such-program | cat":             false,
		"make | cat":                        false, // Ask denies without Approve
	} {
		may, reason := mayRun(t, m, acpterm.CreateTerminalRequest{Command: line})
		require.Equal(t, want, may, "%s: %s", line, reason)
	}
	// Plain commands that run others.
	for _, plain := range []struct {
		args []string
		want bool
	}{
		{[]string{"env", "git", "status"}, true},
		{[]string{"sh", "-c", "git status"}, true},
		{[]string{"env", "rm", "x"}, false},
		{[]string{"sh", "-c", "rm x"}, false},
		{[]string{"sh", "script"}, true},
		{[]string{"env", "LD_PRELOAD=x", "git", "status"}, false},
	} {
		may, reason := mayRun(t, m, acpterm.CreateTerminalRequest{Command: plain.args[0], Args: plain.args[1:]})
		require.Equal(t, plain.want, may, "%v: %s", plain.args, reason)
	}
}

// A rule for a program also applies behind a link to a prefix program, and behind a name that names one if the file
// system ignores case: the long s folds to s.
func TestOtherNamesOfPrefixPrograms(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs symbolic links and programs without an extension")
	}
	dir := t.TempDir()
	link, shellName := filepath.Join(dir, "link"), filepath.Join(dir, "\u017fH")
	require.NoError(t, os.Symlink("/usr/bin/env", link))
	require.NoError(t, os.WriteFile(shellName, []byte("#!/bin/sh\n"), 0o700))
	rules := policy.Rules{Default: acpterm.VerdictAllow, Rules: []policy.Rule{
		{Name: "no touch", Verdict: acpterm.VerdictDeny, Program: "touch"},
	}}
	compiled, err := rules.Compile(nil)
	require.NoError(t, err)
	m := acptermtest.NewManager(t, &acpterm.Options{Policy: shell.NewPolicy(compiled, nil)})
	for _, c := range []struct {
		command string
		args    []string
		want    bool
	}{
		{link, []string{"true"}, true},
		{link, []string{"touch", filepath.Join(dir, "x")}, false},
		{link + " true && true", nil, true},
		{link + " touch x && true", nil, false},
		{link + " $X && true", nil, false},
		{shellName, []string{"-c", "true"}, true},
		{shellName, []string{"-c", "touch x"}, false},
		{shellName + " -c 'touch x' && true", nil, false},
	} {
		may, reason := mayRun(t, m, acpterm.CreateTerminalRequest{Command: c.command, Args: c.args})
		require.Equal(t, c.want, may, "%s %q: %s", c.command, c.args, reason)
	}
}

// An unknown verdict denies a plain command and each part of a line.
func TestUnknownVerdictDenies(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("all lines are denied, since cmd.exe runs them")
	}
	for _, unknown := range []acpterm.Verdict{-1, 9} {
		rules := acpterm.PolicyFunc(func(context.Context, acpterm.Proposal) acpterm.Decision {
			return acpterm.Decision{Verdict: unknown}
		})
		m := acptermtest.NewManager(t, &acpterm.Options{Policy: shell.NewPolicy(rules, nil)})
		for _, req := range []acpterm.CreateTerminalRequest{
			{Command: "true && cat /dev/null"}, {Command: "sh", Args: []string{"-c", "cat /dev/null"}},
			{Command: "cat", Args: []string{"/dev/null"}},
		} {
			may, reason := mayRun(t, m, req)
			require.False(t, may, "%+v", req)
			require.Contains(t, reason, unknown.String())
		}
	}
}

// With a Runner, this system's files are not the files of the line.
func TestFilesOfARunner(t *testing.T) {
	m := acptermtest.NewManager(t, &acpterm.Options{
		Runner:   acptermtest.Commands{"sh": acptermtest.Print("", 0), "cat": acptermtest.Print("", 0)},
		Policy:   shell.NewPolicy(acpterm.Policies{}, &shell.Options{ReadFiles: true, WriteFiles: true}),
		Commands: acpterm.CommandOptions{ShellLines: acpterm.ShellAlways},
	})
	require.NoError(t, m.OpenSession("s", &acpterm.SessionOptions{Roots: []string{t.TempDir()}}))
	for line, want := range map[string]bool{"cat": true, "cat < /dev/null": true, "cat < x": false, "cat > x": false} {
		may, reason := mayRun(t, m, acpterm.CreateTerminalRequest{Command: line})
		require.Equal(t, want, may, "%s: %s", line, reason)
	}
}
