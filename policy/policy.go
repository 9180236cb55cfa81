// Package policy has ready-made policies for acpterm.Options.Policy: rules written down as data, and guards against shells, against
// variables that make programs do something else, and against directories elsewhere.
//
// It imports the acpterm package, which knows nothing of it.
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

// ConfineDir denies commands whose working directory is not in one of the roots. Links are followed on both sides: when
// the policy is made in the roots, and in each proposal's directory. A root that cannot be resolved is an error, of kind
// ErrInvalidParams.
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
			return acpterm.Decision{Verdict: acpterm.Allow, Rule: "roots"}
		}
		return acpterm.Decision{Verdict: acpterm.Deny, Rule: "roots",
			Reason: "cwd is outside of the directories that commands may run in"}
	}), nil
}

// NoShell denies shell lines, and every program that is a shell by the name of its file or by the name that it is
// called by.
func NoShell() acpterm.Policy {
	return acpterm.PolicyFunc(func(_ context.Context, p acpterm.Proposal) acpterm.Decision {
		if p.Command.ShellLine != "" || isShell(p.Name) || isShell(filepath.Base(p.Command.Path)) {
			return acpterm.Decision{Verdict: acpterm.Deny, Rule: "no-shell", Reason: "shells are not allowed"}
		}
		return acpterm.Decision{Verdict: acpterm.Allow, Rule: "no-shell"}
	})
}

// isShell reports whether a program of this name takes lines of commands.
func isShell(name string) bool {
	name = strings.TrimSuffix(strings.ToLower(name), ".exe")
	return slices.Contains([]string{
		"sh", "bash", "rbash", "dash", "ash", "zsh", "ksh", "ksh93", "mksh", "oksh", "yash", "fish", "csh", "tcsh", "elvish", "nu", "xonsh",
		"busybox", "toybox", "cmd", "powershell", "pwsh", "command",
	}, name)
}

// NoShellSyntax denies arguments that have a character in them which a shell gives a meaning to, or one that ends a line.
// It is for programs that hand their arguments on to a shell. White space is no such character. Shell lines are
// denied, since they are all syntax.
func NoShellSyntax() acpterm.Policy {
	return acpterm.PolicyFunc(func(_ context.Context, p acpterm.Proposal) acpterm.Decision {
		if p.Command.ShellLine != "" {
			return acpterm.Decision{Verdict: acpterm.Deny, Rule: "no-shell-syntax", Reason: "shell lines are not allowed"}
		}
		for i, arg := range arguments(p) {
			if strings.ContainsAny(arg, "|&;<>()$`\\\"'*?[]#~%!{}^\r\n\x00") {
				return acpterm.Decision{Verdict: acpterm.Deny, Rule: "no-shell-syntax",
					Reason: fmt.Sprintf("args[%d] has shell syntax in it, which is not allowed", i)}
			}
		}
		return acpterm.Decision{Verdict: acpterm.Allow, Rule: "no-shell-syntax"}
	})
}

// arguments are those of a proposal's command, without the program's name.
func arguments(p acpterm.Proposal) []string { return p.Command.Args[min(1, len(p.Command.Args)):] }

// invalidField is the error for what a policy cannot be made of.
func invalidField(field, reason string) error {
	return &acpterm.Error{Kind: acpterm.ErrInvalidParams, Field: field, Reason: reason}
}
