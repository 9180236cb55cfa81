// Package policy provides ready-made policies for use in [acpterm.Options] and [acpterm.SessionOptions]. One of them,
// [Rules], is defined as data and determines which programs may run. The other policies place restrictions on working
// directories, shells and environment variables. Most hosts will want to use Rules to control programs, together with
// [AllowVariables] to control variables:
//
//	rules, err := policy.ParseRules([]byte(`{"rules": [{"name": "go", "verdict": "allow", "program": "go"}]}`))
//	programs, err := rules.Compile(nil)
//	m, err := acpterm.NewManager(&acpterm.Options{
//		Policy: acpterm.Policies{programs, policy.AllowVariables(policy.SafeVariables()...)},
//	})
//
// All policies are safe for concurrent use by multiple goroutines. For a description of the protection that each policy
// offers and the limits of that protection, see docs/security.md. For policies that can look inside shell lines, see
// the module github.com/acpterm/acpterm/policy/shell.
package policy

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/lookup"
)

// ConfineDir returns a policy that denies any command whose working directory is not within one of the roots. Symbolic
// links in the roots are resolved when ConfineDir is called, whereas symbolic links in a working directory are resolved
// each time a decision is made. If a root is not the absolute path of an existing directory, ConfineDir returns
// ErrInvalidParams. Note that roots are resolved on the local machine. If acpterm.Options.Runner is set, use
// acpterm.SessionOptions.Roots instead, because the Runner resolves those.
func ConfineDir(roots ...string) (acpterm.Policy, error) {
	resolved := make([]string, len(roots))
	for i, root := range roots {
		var err error
		if resolved[i], err = lookup.RealDir(root); err != nil {
			return nil, invalidField(fmt.Sprintf("roots[%d]", i), err.Error())
		}
	}
	return acpterm.PolicyFunc(func(_ context.Context, p acpterm.Proposal) acpterm.Decision {
		if p.DirWithin(resolved...) {
			return acpterm.Decision{Verdict: acpterm.VerdictAllow, Rule: "roots"}
		}
		return acpterm.Decision{Verdict: acpterm.VerdictDeny, Rule: "roots",
			Reason: "cwd is outside of the directories that commands may run in"}
	}), nil
}

// NoShell returns a policy that denies shell lines, as well as any program with the name of a shell, even if the
// program is run through a symbolic link with a different name.
func NoShell() acpterm.Policy {
	return acpterm.PolicyFunc(func(_ context.Context, p acpterm.Proposal) acpterm.Decision {
		if p.Command.ShellLine != "" || isShell(p.Name) || isShell(filepath.Base(p.Command.Path)) {
			return acpterm.Decision{Verdict: acpterm.VerdictDeny, Rule: "no-shell", Reason: "shells are not allowed"}
		}
		return acpterm.Decision{Verdict: acpterm.VerdictAllow, Rule: "no-shell"}
	})
}

// isShell reports whether a program with this name runs shell lines.
func isShell(name string) bool {
	name = strings.TrimSuffix(strings.ToLower(name), ".exe")
	return slices.Contains([]string{
		"sh", "bash", "rbash", "dash", "ash", "zsh", "ksh", "ksh93", "mksh", "oksh", "yash", "fish", "csh", "tcsh",
		"elvish", "nu", "xonsh", "busybox", "toybox", "cmd", "command", "powershell", "powershell_ise", "pwsh",
		"pwsh-preview", "pwsh-lts", "wsl", "git-bash",
	}, name)
}

// arguments returns the arguments of a command, without the program's name.
func arguments(p acpterm.Proposal) []string { return p.Command.Args[min(1, len(p.Command.Args)):] }

// invalidField returns the error for an invalid argument of a policy.
func invalidField(field, reason string) error {
	return &acpterm.Error{Kind: acpterm.ErrInvalidParams, Field: field, Reason: reason}
}
