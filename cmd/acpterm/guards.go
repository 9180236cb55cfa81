package main

// This file sets up the protections that the flags ask for: rules, questions to the user, a sandbox, an audit log.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/archive"
	"github.com/acpterm/acpterm/audit"
	"github.com/acpterm/acpterm/bubblewrap"
	"github.com/acpterm/acpterm/policy"
)

// allowances holds the values of the -allow flags.
type allowances struct {
	given []policy.Rule
	file  *policy.Rules // from @FILE
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

// check fails if a rule or one of its examples is wrong. If remote, it does not check that the programs exist.
func (a *allowances) check(remote bool) error {
	for _, rule := range a.given {
		// The library accepts such a rule, which then allows nothing.
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

// compile makes a policy from rules, for local or remote commands.
func compile(rules policy.Rules, remote bool) (acpterm.Policy, error) {
	if remote {
		return rules.CompileRemote()
	}
	return rules.Compile(nil)
}

// rules returns all rules together, or nil if none are given and ask is false. If ask, the policy asks about a command
// that no rule matches instead of denying it.
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

// newPolicy makes a policy from the rules. A rule that allows git must not also allow the program that GIT_PAGER names,
// so the agent may set only safe variables and those of opts.variables.
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

// askInstead returns a policy that asks where strict denies.
func askInstead(strict acpterm.Policy) acpterm.Policy {
	return acpterm.PolicyFunc(func(ctx context.Context, p acpterm.Proposal) acpterm.Decision {
		d := strict.Decide(ctx, p)
		d.Verdict = max(d.Verdict, acpterm.VerdictAsk)
		return d
	})
}

// guards holds the requested protections. The others are nil.
type guards struct {
	policy acpterm.Policy
	asker  *asker
	wrap   acpterm.Sandbox
	audit  *audit.Log
	kept   *archive.Archive
}

// newGuards fails if a requested guard cannot be set up: no command may run without it.
func newGuards(opts options, screen *screen) (g guards, err error) {
	if g.policy, err = newPolicy(opts); err != nil {
		return g, fmt.Errorf("-allow: %w", err)
	}
	if opts.ask {
		in, out, err := openConsole()
		if err != nil {
			return g, fmt.Errorf("-ask: there is no terminal to ask on: %w", err)
		}
		g.asker = newAsker(in, out, screen)
	}
	writable := opts.roots
	if opts.runner != nil {
		writable = nil // these are remote directories
	}
	if opts.archive != "" {
		if g.kept, err = archive.Open(opts.archive, nil, writable...); err != nil {
			return g, fmt.Errorf("-archive: %w", err)
		}
		for _, err := range g.kept.Skipped() {
			screen.tell(err.Error())
		}
	}
	if opts.audit != "" {
		if g.audit, err = audit.Open(opts.audit, writable...); err != nil {
			return g, fmt.Errorf("-audit: %w", err)
		}
	}
	if opts.sandbox && opts.runner == nil { // the remote helper makes its own
		if g.wrap, err = bubblewrap.New(&bubblewrap.Options{Network: opts.network}); err != nil {
			return g, fmt.Errorf("-sandbox: %w", err)
		}
	}
	return g, nil
}

// finish must be called after the manager's shutdown, when nothing more is asked or recorded. It fails if the record is
// incomplete.
func (g guards) finish() error {
	if g.asker != nil {
		g.asker.finish()
	}
	var errs []error
	if g.kept != nil {
		if err := g.kept.Close(); err != nil {
			errs = append(errs, fmt.Errorf("-archive: %w", err))
		}
	}
	if g.audit != nil {
		if err := g.audit.Close(); err != nil {
			errs = append(errs, fmt.Errorf("-audit: %w", err))
		}
	}
	return errors.Join(errs...)
}
