package main

// What -allow says, as rules, and the rules as a policy.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/policy"
)

// allowances are the -allow flags.
type allowances struct {
	given []policy.Rule
	file  *policy.Rules // of @FILE
}

func (a *allowances) add(text string) error {
	if path, ok := strings.CutPrefix(text, "@"); ok {
		if a.file != nil {
			return errors.New("one @FILE is enough: its verdicts on the rest would contradict another's")
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rules, err := policy.ParseRules(data)
		a.file = &rules
		return err
	}
	words := strings.Fields(text)
	if len(words) == 0 {
		return errors.New("the rule is empty")
	}
	rule := policy.Rule{Name: text, Verdict: acpterm.VerdictAllow, Program: words[0]}
	if len(words) > 1 {
		rule.Args = words[1:]
	}
	a.given = append(a.given, rule)
	return nil
}

// check fails for what is wrong with the rules, and with their examples. The programs of a far end are not known.
func (a *allowances) check(remote bool) error {
	for _, rule := range a.given {
		// To the library this is no mistake: such a rule allows nothing.
		if _, err := exec.LookPath(rule.Program); err != nil && !remote {
			return fmt.Errorf("there is no program %q", rule.Program)
		}
	}
	rules := a.rules(false)
	if rules == nil {
		return nil
	}
	_, err := compile(*rules, remote)
	return err
}

// compile makes rules a policy for commands here, or at a far end.
func compile(rules policy.Rules, remote bool) (acpterm.Policy, error) {
	if remote {
		return rules.CompileRemote()
	}
	return rules.Compile(nil)
}

// rules are all of them together; nil if there are none, and nobody is to be asked. Whoever asks wants to be asked
// instead of what would be denied for want of a rule.
func (a *allowances) rules(ask bool) *policy.Rules {
	if a.file == nil && a.given == nil && !ask {
		return nil
	}
	var all policy.Rules
	if a.file != nil {
		all = *a.file
	}
	all.Rules = append(all.Rules, a.given...)
	if ask {
		all.Default, all.ShellLines = max(all.Default, acpterm.VerdictAsk), max(all.ShellLines, acpterm.VerdictAsk)
	}
	return &all
}

// newPolicy makes the rules a policy. To allow git is not to allow whatever GIT_PAGER names: of variables the agent may
// set those that are safe, and these.
func newPolicy(opts options) (acpterm.Policy, error) {
	if opts.rules == nil {
		return nil, nil
	}
	programs, err := compile(*opts.rules, opts.runner != nil)
	if err != nil {
		return nil, err
	}
	settable := policy.AllowVariables(append(policy.SafeVariables(), opts.variables...)...)
	if opts.ask {
		settable = askInstead(settable)
	}
	return acpterm.Policies{programs, settable}, nil
}

// askInstead asks about what a policy denies.
func askInstead(strict acpterm.Policy) acpterm.Policy {
	return acpterm.PolicyFunc(func(ctx context.Context, p acpterm.Proposal) acpterm.Decision {
		d := strict.Decide(ctx, p)
		d.Verdict = max(d.Verdict, acpterm.VerdictAsk)
		return d
	})
}
