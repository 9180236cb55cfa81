package shell_test

// The policy, over real rules and the programs of this machine; nothing runs but what is allowed.

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/policy"
	"github.com/acpterm/acpterm/policy/shell"
	"github.com/stretchr/testify/require"
)

// allowed lets a few harmless programs run, and git with two of its commands.
func allowed(t testing.TB, bin string) acpterm.Policy {
	rules := policy.Rules{Rules: []policy.Rule{
		{Name: "reading", Verdict: acpterm.Allow, Program: "cat"},
		{Name: "env", Verdict: acpterm.Allow, Program: "env"},
		{Name: "xargs", Verdict: acpterm.Allow, Program: "xargs"},
		{Name: "sh", Verdict: acpterm.Allow, Program: "sh"},
		{Name: "git status", Verdict: acpterm.Allow, Program: "git", Args: []string{"status"}},
		{Name: "git log", Verdict: acpterm.Allow, Program: "git", Args: []string{"log", "..."}},
		{Name: "no force", Verdict: acpterm.Deny, Program: "git", AnyArg: []string{"--force*", "-f"}},
		{Name: "ask to build", Verdict: acpterm.Ask, Program: "make"},
	}}
	compiled, err := rules.Compile([]string{"PATH=" + bin + ":/usr/bin:/bin"})
	require.NoError(t, err)
	variables := policy.DenyVariables("LD_*", "GIT_*", "PATH", "BASH_ENV")
	return shell.Policy(acpterm.Policies{compiled, variables}, &shell.Options{ReadFiles: true, WriteFiles: true})
}

func TestLinesUnderRules(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("lines are cmd.exe's here, and are all denied")
	}
	bin, root, elsewhere := t.TempDir(), t.TempDir(), t.TempDir()
	for _, name := range []string{"git", "make", "rm"} {
		require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\nexit 0\n"), 0o700))
	}
	require.NoError(t, os.WriteFile(filepath.Join(root, "git"), []byte("#!/bin/sh\nexit 0\n"), 0o700))
	require.NoError(t, os.Symlink(filepath.Join(elsewhere, "not-there"), filepath.Join(root, "dangling")))
	m := acpterm.NewManager(&acpterm.Options{
		Env: []string{"PATH=" + bin + ":/usr/bin:/bin"}, Policy: allowed(t, bin),
	})
	defer func() { require.NoError(t, m.Close()) }()
	require.NoError(t, m.OpenSession("s", &acpterm.SessionOptions{Roots: []string{root}}))

	for line, want := range map[string]bool{
		"git status":                       true,
		"git status && git log -n 5 | cat": true,
		"git log \"$(git status)\"":        false, // arguments that nobody knows might be --force
		"cd . && git status":               true,
		"echo hello; test -f x || true":    true,
		"cat < git > out.txt":              true,
		"git status > /dev/null 2>&1":      true,
		`sh -c "git status | cat"`:         true,
		"env A=b git status":               true,
		"X=1 git status":                   true,
		`\g\it status`:                     true,
		`g''it stat"us"`:                   true,

		"git push":                          false,
		"git status && rm -rf x":            false,
		"git status; git push":              false,
		"git status | rm":                   false,
		"git log $(rm x)":                   false,
		"git log `rm x`":                    false,
		"cat <(rm x)":                       false,
		"cat <<E\n$(rm x)\nE":               false,
		"git log --force-with-lease":        false,
		"git log $X":                        false, // might be --force
		"git $X":                            false,
		"$X status":                         false,
		"alias git=rm; git":                 false,
		"eval git status":                   false,
		`sh -c "rm x"`:                      false,
		`sh -c "$X"`:                        false,
		"env rm x":                          false,
		"env GIT_SSH_COMMAND=rm git status": false,
		"GIT_SSH_COMMAND=rm git status":     false,
		"LD_PRELOAD=./x.so git status":      false,
		"export GIT_PAGER=rm; git status":   false,
		"PATH=. git status":                 false,
		"./git status":                      false,
		"cat x | xargs rm":                  false,
		"cat x | xargs git status":          false, // with more arguments than that
		"git\u200b status && cat x":         false,
		"gіt status | cat":                  false, // Cyrillic
		"echo x > " + elsewhere + "/out":    false,
		"echo x > ../out":                   false,
		"echo x > dangling":                 false,
		"echo x > $HOME/.bashrc":            false,
		"no-such-program | cat":             false,
		"make | cat":                        false, // without Approve, Ask denies
		"git() { rm x; }; git status":       false,
	} {
		_, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: line})
		if want {
			require.NoError(t, err, "%s", line)
			continue
		}
		require.Error(t, err, "%s", line)
		if len(line) < 20 || line[:2] != "gі" {
			require.ErrorIs(t, err, acpterm.ErrDenied, "%s", line)
		}
	}
	// Plain commands that run others.
	for _, plain := range []struct {
		args []string
		want bool
	}{
		{[]string{"env", "git", "status"}, true},
		{[]string{"sh", "-c", "git status"}, true},
		{[]string{"env", "rm", "x"}, false},
		{[]string{"env", "-S", "rm x"}, false},
		{[]string{"sh", "-c", "rm x"}, false},
		{[]string{"sh", "script"}, true},
		{[]string{"xargs", "rm"}, false},
		{[]string{"env", "LD_PRELOAD=x", "git", "status"}, false},
	} {
		req := acpterm.CreateTerminalRequest{SessionID: "s", Command: plain.args[0], Args: plain.args[1:]}
		_, err := m.Create(t.Context(), req)
		if plain.want {
			require.NoError(t, err, "%v", plain.args)
		} else {
			require.ErrorIs(t, err, acpterm.ErrDenied, "%v", plain.args)
		}
	}
}

// A link to env is env, whatever it is called: a rule that allows everything else must not be led around by it.
func TestAnotherNameHidesNothing(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs symbolic links")
	}
	dir := t.TempDir()
	require.NoError(t, os.Symlink("/usr/bin/env", filepath.Join(dir, "innocent")))
	rules := policy.Rules{Default: acpterm.Allow, Rules: []policy.Rule{
		{Name: "no touch", Verdict: acpterm.Deny, Program: "touch"},
	}}
	compiled, err := rules.Compile(nil)
	require.NoError(t, err)
	m := acpterm.NewManager(&acpterm.Options{Policy: shell.Policy(compiled, nil)})
	defer func() { require.NoError(t, m.Close()) }()
	for program, want := range map[string]bool{"true": true, "touch": false} {
		_, err = m.Create(t.Context(), acpterm.CreateTerminalRequest{
			SessionID: "s", Command: filepath.Join(dir, "innocent"), Args: []string{program, filepath.Join(dir, "x")},
		})
		require.Equal(t, want, err == nil, "%s: %v", program, err)
	}
	for line, want := range map[string]bool{" true && true": true, " touch x && true": false, " $X && true": false} {
		_, err = m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: dir + "/innocent" + line})
		require.Equal(t, want, err == nil, "%s: %v", line, err)
	}
}

// A verdict that is not known denies, of a plain command and of each part of a line.
func TestUnknownVerdictDenies(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("lines are cmd.exe's here, and are all denied")
	}
	for _, unknown := range []acpterm.Verdict{-1, 9} {
		rules := acpterm.PolicyFunc(func(context.Context, acpterm.Proposal) acpterm.Decision {
			return acpterm.Decision{Verdict: unknown}
		})
		m := acpterm.NewManager(&acpterm.Options{Policy: shell.Policy(rules, nil)})
		defer func() { require.NoError(t, m.Close()) }()
		for _, req := range []acpterm.CreateTerminalRequest{
			{Command: "true && cat /dev/null"}, {Command: "sh", Args: []string{"-c", "cat /dev/null"}},
			{Command: "cat", Args: []string{"/dev/null"}},
		} {
			req.SessionID = "s"
			_, err := m.Create(t.Context(), req)
			require.ErrorIs(t, err, acpterm.ErrDenied, "%+v", req)
			require.ErrorContains(t, err, unknown.String())
		}
	}
}
