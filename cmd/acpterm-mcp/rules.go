package main

// The rules that decide which commands run.

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/policy"
	"github.com/acpterm/acpterm/policy/shell"
)

// rules holds the values of the flags about rules.
type rules struct {
	given     []policy.Rule
	files     []policy.Rule
	sets      []*ruleSet
	others    verdict  // of -others
	defaults  verdict  // the strictest default of the files
	lines     verdict  // the strictest shellLines of the files
	variables []string // that the agent may set, in addition to policy.SafeVariables
	redirect  bool
}

// verdict is a verdict, if one was given.
type verdict struct{ given *acpterm.Verdict }

// or returns the verdict, or the other one if none was given.
func (v verdict) or(other acpterm.Verdict) acpterm.Verdict {
	if v.given == nil {
		return other
	}
	return *v.given
}

// set sets the verdict by its name.
func (v *verdict) set(name string) error {
	v.given = new(acpterm.Verdict)
	return v.given.UnmarshalText([]byte(name))
}

// restrict sets the verdict to another one, if that is stricter. It may be nil.
func (v *verdict) restrict(other *acpterm.Verdict) {
	if other != nil && *other <= v.or(*other) {
		v.given = other
	}
}

// unmatched returns the verdict on commands that match no rule.
func (r *rules) unmatched() acpterm.Verdict { return r.others.or(r.defaults.or(acpterm.VerdictAsk)) }

func (r *rules) flags(flags *flag.FlagSet) {
	for name, v := range map[string]acpterm.Verdict{
		"allow": acpterm.VerdictAllow, "ask": acpterm.VerdictAsk, "deny": acpterm.VerdictDeny,
	} {
		text := map[string]string{
			"allow": "a `rule` that allows commands, such as 'go' or 'git log ...'; repeatable",
			"ask":   "a `rule` for commands to ask the user about, although -allow matches; repeatable",
			"deny":  "a `rule` that denies commands, although -allow matches; repeatable",
		}[name]
		flags.Func(name, text, func(rule string) error { return r.add(rule, v) })
	}
	flags.Func("rules", "a `set` of rules ("+strings.Join(setNames(), ", ")+
		"), or a file of rules as JSON; repeatable", r.read)
	flags.Func("others",
		"the `verdict` on commands that no rule matches: ask, deny or allow (default: that of -rules, or ask)",
		r.others.set)
	flags.Func("variable", "the `name` of a variable that the agent may set, or NAME=VALUE; repeatable",
		func(text string) error {
			if text == "" || strings.HasPrefix(text, "=") {
				return errors.New("the name is empty")
			}
			r.variables = append(r.variables, text)
			return nil
		})
	flags.BoolVar(&r.redirect, "redirect", false, "let shell lines read and write files in the roots, as in 'ls > list'")
}

func (r *rules) add(text string, v acpterm.Verdict) error {
	words := strings.Fields(text)
	if len(words) == 0 {
		return errors.New("the rule is empty")
	}
	rule := policy.Rule{Name: text, Verdict: v, Program: words[0]}
	if len(words) > 1 {
		rule.Args = words[1:]
	}
	r.given = append(r.given, rule)
	return nil
}

// read reads a set by its name, or a file. A file with the name of a set is read as ./NAME.
func (r *rules) read(path string) error {
	if slices.Contains(setNames(), path) {
		set, err := readSet(path)
		r.sets = append(r.sets, set)
		return err
	}
	data, err := os.ReadFile(home(path))
	if err != nil {
		return err
	}
	file, err := policy.ParseRules(data)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(file.Rules, func(rule policy.Rule) bool { return rule.Name == unmatchedRule }) {
		return fmt.Errorf("the rule name %q means commands without a rule: choose another one", unmatchedRule)
	}
	r.files = append(r.files, file.Rules...)
	var set struct{ Default, ShellLines *acpterm.Verdict } // which tells an absent one from "deny"
	if err := json.Unmarshal(data, &set); err != nil {
		return err
	}
	r.defaults.restrict(set.Default)
	r.lines.restrict(set.ShellLines)
	return nil
}

func (r *rules) all() []policy.Rule { return slices.Concat(r.files, r.given) }

// allows reports whether some command may run without a question.
func (r *rules) allows() bool {
	return r.unmatched() == acpterm.VerdictAllow || len(r.sets) > 0 ||
		slices.ContainsFunc(r.all(), func(rule policy.Rule) bool { return rule.Verdict == acpterm.VerdictAllow })
}

// policy makes a policy for commands with an environment, or remote ones. It decides about every program in a shell
// line.
func (r *rules) policy(far bool, env []string) (acpterm.Policy, error) {
	others := r.unmatched()
	all := policy.Rules{Default: others, ShellLines: others, Rules: r.all()}
	if r.restrictsNothing() {
		return nil, nil
	}
	compile := func(rules policy.Rules) (acpterm.Policy, error) { return rules.Compile(env) }
	if far {
		compile = policy.Rules.CompileRemote
	}
	programs, err := compile(all)
	if err != nil {
		return nil, err
	}
	sets, err := compileSets(r.sets, compile)
	if err != nil {
		return nil, err
	}
	programs = naming(withSets(programs, sets))
	if others != acpterm.VerdictAllow {
		// A rule that allows git must not also allow the program that GIT_PAGER names.
		settable := policy.AllowVariables(append(policy.SafeVariables(), r.variables...)...)
		programs = acpterm.Policies{programs, atLeast(others, settable)}
	}
	lines := shell.NewPolicy(programs, &shell.Options{ReadFiles: r.redirect, WriteFiles: r.redirect})
	// A line that cannot be analysed may run any program, so the strictest rule decides.
	strictest := others
	for _, rule := range all.Rules {
		strictest = min(strictest, rule.Verdict)
	}
	return acpterm.Policies{atLeast(strictest, lines), r.wholeLines()}, nil
}

// input returns a policy on commands that the agent types into. The default verdict is to ask: no rule sees the programs
// that a pager, an editor or an interpreter starts. It is to allow if everything else is allowed, too.
func (r *rules) input(given verdict) acpterm.Policy {
	v := given.or(acpterm.VerdictAsk)
	if given.given == nil && r.restrictsNothing() {
		v = acpterm.VerdictAllow
	}
	return acpterm.PolicyFunc(func(context.Context, acpterm.Proposal) acpterm.Decision {
		return acpterm.Decision{Verdict: v, Rule: "pty", Reason: "the agent types into it while it runs"}
	})
}

// restrictsNothing reports whether all commands are allowed.
func (r *rules) restrictsNothing() bool {
	return r.unmatched() == acpterm.VerdictAllow && len(r.all()) == 0 && r.lines.given == nil
}

// wholeLines returns a policy that restricts every shell line to the shellLines of the files.
func (r *rules) wholeLines() acpterm.Policy {
	return acpterm.PolicyFunc(func(_ context.Context, p acpterm.Proposal) acpterm.Decision {
		if p.Command.ShellLine == "" {
			return acpterm.Decision{Verdict: acpterm.VerdictAllow}
		}
		return acpterm.Decision{Verdict: r.lines.or(acpterm.VerdictAllow), Rule: "shell-lines",
			Reason: "the file of rules has this verdict for all shell lines"}
	})
}

// missing fails if a rule allows a program that does not exist: such a rule allows nothing.
func (r *rules) missing() error {
	for _, rule := range r.given {
		if _, err := exec.LookPath(rule.Program); err != nil && rule.Verdict == acpterm.VerdictAllow {
			return fmt.Errorf("-allow: there is no program %q", rule.Program)
		}
	}
	return nil
}

// atLeast returns a policy with the decisions of p, except that least replaces stricter verdicts.
func atLeast(least acpterm.Verdict, p acpterm.Policy) acpterm.Policy {
	return acpterm.PolicyFunc(func(ctx context.Context, proposal acpterm.Proposal) acpterm.Decision {
		d := p.Decide(ctx, proposal)
		d.Verdict = max(d.Verdict, least)
		return d
	})
}
