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
		if err == nil {
			_, err = rules.Compile(nil) // for what is wrong with them, and with their examples
		}
		a.file = &rules
		return err
	}
	words := strings.Fields(text)
	if len(words) == 0 {
		return errors.New("the rule is empty")
	}
	// To the library this is no mistake: such a rule allows nothing.
	if _, err := exec.LookPath(words[0]); err != nil {
		return fmt.Errorf("there is no program %q", words[0])
	}
	rule := policy.Rule{Name: text, Verdict: acpterm.VerdictAllow, Program: words[0]}
	if len(words) > 1 {
		rule.Args = words[1:]
	}
	a.given = append(a.given, rule)
	_, err := policy.Rules{Rules: []policy.Rule{rule}}.Compile(nil)
	return err
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

// newPolicy makes rules a policy. To allow git is not to allow whatever GIT_PAGER names: of variables the agent may set
// those that are safe, and these.
func newPolicy(rules *policy.Rules, variables []string, ask bool) (acpterm.Policy, error) {
	if rules == nil {
		return nil, nil
	}
	programs, err := rules.Compile(nil)
	if err != nil {
		return nil, err
	}
	settable := policy.AllowVariables(append(policy.SafeVariables(), variables...)...)
	if ask {
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
