package main

// What the model is told about the rules: a short list in the server's instructions and after each denial, and the
// denied program of a line.

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/display"
	"github.com/acpterm/acpterm/policy"
)

const (
	// maxList bounds the list of commands of each verdict, in bytes.
	maxList = 1200
	// maxProgram bounds a denied command, in bytes.
	maxProgram = 200
	// unmatchedRule is the name that package policy gives to the decision about commands that no rule matches.
	unmatchedRule = "default"
)

// tell returns what the model should know about the rules. It leaves out programs for which exists returns false. The
// text is empty if everything is allowed.
func (r *rules) tell(exists func(program string) bool) string {
	var parts []string
	others := r.unmatched()
	for _, v := range []struct {
		verdict acpterm.Verdict
		text    string
	}{
		{acpterm.VerdictAllow, "These commands run without a question"},
		{acpterm.VerdictAsk, "These need the user's approval"},
		{acpterm.VerdictDeny, "These are denied"},
	} {
		if list := r.list(v.verdict, exists); list != "" && v.verdict != others {
			parts = append(parts, v.text+": "+list+".")
		}
	}
	switch {
	case len(parts) == 0 && others == acpterm.VerdictAllow && r.lines.given == nil:
		return ""
	case others == acpterm.VerdictAllow:
		parts = append(parts, "All other commands run without a question.")
	case others == acpterm.VerdictAsk:
		parts = append(parts, "All other commands need the user's approval.")
	default:
		parts = append(parts, "All other commands are denied.")
	}
	switch r.lines.or(acpterm.VerdictAllow) {
	case acpterm.VerdictAsk:
		parts = append(parts, "Each shell line needs the user's approval: pass args.")
	case acpterm.VerdictDeny:
		parts = append(parts, "All shell lines are denied: pass args.")
	}
	if others != acpterm.VerdictAllow {
		line := "Each program of a shell line counts. Builtins such as cd and echo are free, but "
		if r.redirect {
			line += "a name that is known only when the line runs counts as another command."
		} else {
			line += "a file after < or >, except /dev/null, counts as another command."
		}
		parts = append(parts, line)
	}
	return strings.Join(parts, " ")
}

// list returns the rules with a verdict, as in "go, git (diff ..., log ...)". It is not longer than maxList.
func (r *rules) list(v acpterm.Verdict, exists func(program string) bool) string {
	var programs []string
	forms := make(map[string][]string)
	add := func(program, form string) {
		if _, there := forms[program]; !there {
			programs = append(programs, program)
		}
		forms[program] = append(forms[program], form)
	}
	for _, rule := range r.all() {
		if rule.Verdict != v || rule.Program != "" && !exists(rule.Program) {
			continue
		}
		program := rule.Program
		if program == "" {
			program = "any program"
		}
		add(program, formOf(rule))
	}
	for _, set := range r.sets {
		for _, c := range set.Commands {
			for _, program := range c.Programs {
				if v == acpterm.VerdictAllow && exists(program) {
					add(program, c.form())
				}
			}
		}
	}
	items := make([]string, len(programs))
	for i, program := range programs {
		items[i] = program
		if all := forms[program]; !slices.Contains(all, "") {
			slices.Sort(all)
			items[i] += " (" + strings.Join(slices.Compact(all), ", ") + ")"
		}
	}
	return joinWithin(items, maxList)
}

// formOf returns the arguments that a rule matches, or "" for any.
func formOf(rule policy.Rule) string {
	form := strings.Join(rule.Args, " ")
	switch {
	case rule.Args != nil && len(rule.Args) == 0:
		form = "without arguments"
	case form == "...":
		form = ""
	}
	if rule.AnyArg != nil {
		form = strings.TrimSpace(form + " with " + strings.Join(rule.AnyArg, " or "))
	}
	if rule.Dir != "" {
		form = strings.TrimSpace(form + " in " + rule.Dir)
	}
	return form
}

// joinWithin joins items until the text has most bytes, and counts the others.
func joinWithin(items []string, most int) string {
	text := ""
	for i, item := range items {
		next := display.Visible(item, most/4)
		if i > 0 {
			next = ", " + next
		}
		if len(text)+len(next) > most {
			return fmt.Sprintf("%s and %d more", text, len(items)-i)
		}
		text += next
	}
	return text
}

// installed returns a function that reports whether a program exists in the PATH of an environment, or in that of this
// process if env is nil.
func installed(env []string) func(program string) bool {
	search := os.Getenv("PATH")
	for _, variable := range env {
		if name, value, _ := strings.Cut(variable, "="); strings.EqualFold(name, "PATH") {
			search = value
		}
	}
	return func(program string) bool {
		if filepath.IsAbs(program) {
			_, err := exec.LookPath(program)
			return err == nil
		}
		return slices.ContainsFunc(filepath.SplitList(search), func(dir string) bool {
			_, err := exec.LookPath(filepath.Join(dir, program))
			return err == nil && filepath.IsAbs(dir)
		})
	}
}

// programs returns a function that reports whether a program exists where commands run with an environment. On another
// machine, it is taken to exist.
func (opts *options) programs(env []string) func(program string) bool {
	if opts.runner != nil {
		return func(string) bool { return true }
	}
	return installed(env)
}

// naming returns a policy with the decisions of p, whose reasons name the program. p sees each program of a line.
func naming(p acpterm.Policy) acpterm.Policy {
	return acpterm.PolicyFunc(func(ctx context.Context, proposal acpterm.Proposal) acpterm.Decision {
		d := p.Decide(ctx, proposal)
		if d.Verdict == acpterm.VerdictAllow {
			return d
		}
		program := display.Quote(proposal.Command.String(), maxProgram)
		ofLine := len(proposal.Requested.Args) == 0 && proposal.Requested.Command != proposal.Command.Args[0]
		switch {
		case d.Rule == unmatchedRule && proposal.ArgsUnknown:
			source := strings.Join(proposal.Command.Args, " ")
			d.Reason = "no rule allows " + display.Quote(source, maxProgram) +
				", with arguments that are known only when it runs"
		case d.Rule == unmatchedRule:
			d.Reason = "no rule allows " + program
		case ofLine && d.Reason != "":
			d.Reason = program + ": " + d.Reason
		case ofLine:
			d.Reason = "the rule is for " + program
		}
		return d
	})
}

// explained returns a function for acpterm.Options.Approve. If there is no answer of a user, it adds the reason for the
// question to the reason for the denial.
func explained(ask approver) approver {
	return func(ctx context.Context, q acpterm.Question) acpterm.Answer {
		answer := ask(ctx, q)
		if answer.By == "" && answer.Reason != "" && q.Reason != "" {
			answer.Reason = q.Reason + "; " + answer.Reason
		}
		return answer
	}
}
