package shell

// A Policy that puts every program in a shell line before another policy.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/acpterm/acpterm"
)

// Policy returns a policy for all commands, that has rules decide about each program which a command runs: those of a
// shell line, and, of a plain command that runs another one (env, xargs, sudo, sh -c), both. The strictest verdict
// holds; a line that Parse refuses is denied, and so is a program that is not there.
//
// rules is asked as often as there are programs, each as an acpterm.Proposal without a ShellLine. What it says of a
// command that it would change counts as a denial: a part of a line cannot be changed. A line may write to /dev/null and
// to files in the session's roots whose names are plain text, and nowhere else. Builtins of the shell are let through,
// but for those that Parse refuses.
//
// What a line writes to is looked at before it runs; a program in it that makes links could make one in between.
//
// Everything that decides by program, arguments or variables belongs into rules: beside this policy it would see a line as
// arguments of sh. Put it where rules would stand, in acpterm.Options.Policy or SessionOptions.Policy. The policy may be used concurrently if
// rules may.
func Policy(rules acpterm.Policy) acpterm.Policy { return policy{rules} }

type policy struct{ rules acpterm.Policy }

// ruleName is what decisions of this package's own are recorded as.
const ruleName = "shell"

func deny(reason string) acpterm.Decision {
	return acpterm.Decision{Verdict: acpterm.Deny, Rule: ruleName, Reason: reason}
}

// Decide asks the rules about every program.
func (p policy) Decide(ctx context.Context, proposal acpterm.Proposal) acpterm.Decision {
	line := proposal.Command.ShellLine
	decision := acpterm.Decision{Verdict: acpterm.Allow, Rule: ruleName}
	if line == "" {
		decision = p.rules.Decide(ctx, proposal)
		name, runsAnother := prefixName(proposal)
		if decision.Verdict == acpterm.Deny || decision.Change != nil || !runsAnother {
			return decision
		}
		line = quote(append([]string{name}, proposal.Command.Args[1:]...))
	}
	commands, err := Parse(line)
	if err != nil {
		return deny("the line cannot be seen through: " + err.Error())
	}
	return p.decideAll(ctx, proposal, commands, decision)
}

// decideAll is the strictest decision about the commands of a line.
func (p policy) decideAll(ctx context.Context, proposal acpterm.Proposal, commands []Command, strictest acpterm.Decision) acpterm.Decision {
	set := variables(commands)
	for i, c := range commands {
		for _, r := range c.Redirects {
			if reason := refusedRedirect(r, c, proposal); reason != "" {
				return deny(reason)
			}
		}
		if c.Builtin || proposal.Command.ShellLine == "" && i == 0 {
			continue // of a plain command, the rules have seen the first
		}
		if c.Moved && hasRelativePath(proposal) {
			return deny("after cd, a relative entry of PATH leads elsewhere")
		}
		args, known := arguments(c.Args)
		inner, err := proposal.Propose(ctx, c.Name, args, set)
		switch {
		case errors.Is(err, acpterm.ErrCommandNotFound), errors.Is(err, acpterm.ErrNotExecutable):
			return deny(fmt.Sprintf("%q is no program here", c.Name))
		case err != nil:
			return deny(err.Error())
		}
		inner.ArgsUnknown = !known
		d := p.rules.Decide(ctx, inner)
		if _, hides := prefixName(inner); hides && !isPrefix(filepath.Base(c.Name)) { // Parse knew it by another name
			if !known {
				return deny(fmt.Sprintf("%q runs a program that cannot be seen", c.Name))
			}
			d = p.Decide(ctx, inner)
		}
		if d.Change != nil && d.Verdict != acpterm.Deny {
			d = deny(fmt.Sprintf("%q would have to be changed, which a part of a line cannot be", c.Name))
		}
		if d.Verdict < strictest.Verdict {
			strictest = d
		}
	}
	return strictest
}

// prefixName is how a program would be named in a line, if it is one that runs another which its arguments name: by the
// name that it goes by, or by its file's, which another name may only hide. busybox and toybox do what their name says,
// so that their file says nothing.
func prefixName(p acpterm.Proposal) (name string, runsAnother bool) {
	if isPrefix(p.Name) {
		return p.Name, true
	}
	base := filepath.Base(p.Command.Path)
	return base, isPrefix(base) && base != "busybox" && base != "toybox"
}

func isPrefix(name string) bool {
	_, found := prefixes[strings.ToLower(name)]
	return found
}

// quote makes a line of words that a shell takes as they are.
func quote(words []string) string {
	for i, word := range words {
		words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return strings.Join(words, " ")
}

// arguments are the texts of arguments, and whether they are all that the program gets.
func arguments(args []Arg) (texts []string, known bool) {
	known = true
	for _, arg := range args {
		texts = append(texts, arg.Text)
		known = known && arg.Literal
	}
	return texts, known
}

// variables are those that a line sets, for whichever of its commands: a policy that denies one denies the line.
func variables(commands []Command) (set []acpterm.EnvVariable) {
	for _, c := range commands {
		for _, v := range c.Env {
			set = append(set, acpterm.EnvVariable{Name: v.Name, Value: v.Value.Text})
		}
		if c.Builtin && (c.Name == "export" || c.Name == "readonly") {
			for _, arg := range c.Args {
				if name, value, ok := strings.Cut(arg.Text, "="); ok {
					set = append(set, acpterm.EnvVariable{Name: name, Value: value})
				}
			}
		}
	}
	return set
}

// refusedRedirect says why a redirection is not let through; empty if it is.
func refusedRedirect(r Redirect, c Command, p acpterm.Proposal) string {
	switch {
	case !r.Path.Literal:
		return "a file that is read or written has no plain name"
	case strings.HasPrefix(r.Path.Text, "/dev/tcp/"), strings.HasPrefix(r.Path.Text, "/dev/udp/"):
		return "bash would make a connection"
	case r.Op == "<", r.Path.Text == "/dev/null":
		return ""
	case c.Moved && !filepath.IsAbs(r.Path.Text):
		return "after cd, a file that is written has no absolute name"
	}
	path := r.Path.Text
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.Command.Dir, path)
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if _, there := os.Lstat(path); there == nil { // and may be a link, perhaps to what is not
		var real string
		real, err = filepath.EvalSymlinks(path)
		dir = filepath.Dir(real)
	}
	if err == nil {
		for _, root := range p.Roots {
			if rel, err := filepath.Rel(root, dir); err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
				return ""
			}
		}
	}
	return fmt.Sprintf("%q would be written, outside of the directories that commands may write to", r.Path.Text)
}

// hasRelativePath reports whether the command's PATH has an entry that depends on the directory.
func hasRelativePath(p acpterm.Proposal) bool {
	for _, variable := range p.Command.Env {
		if value, found := strings.CutPrefix(variable, "PATH="); found {
			for _, entry := range filepath.SplitList(value) {
				if !filepath.IsAbs(entry) {
					return true
				}
			}
		}
	}
	return false
}
