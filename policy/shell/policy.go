package shell

// A Policy that puts every program in a shell line before another policy.

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/acpterm/acpterm"
)

// Options are what a shell may do by itself, beyond starting programs. The zero value refuses all of it, and so does
// nil in its place.
type Options struct {
	// ReadFiles lets the shell open files in the session's roots for reading, as `read x < file` does.
	ReadFiles bool
	// WriteFiles lets it write to files in the session's roots, as `echo x > file` does. What is written can make a
	// program that is allowed run another one: .git/config, Makefile, package.json. Which file a name leads to is
	// looked up before the line runs; a program in the line, or in another terminal, can make a link in between.
	WriteFiles bool
	// Kill lets it send signals to any process of the user, by the builtin kill.
	Kill bool
	// LoginShells lets a line start login shells, such as `bash -lc`. Their start-up files may change PATH, and then
	// other programs run than those that were decided about.
	LoginShells bool
}

// Policy returns a policy for all commands, that has rules decide about each program which a command runs: those of a
// shell line, and, of a plain command that runs another one (env, xargs, sudo, sh -c), both. The strictest verdict
// holds; a line that Parse refuses is denied, and so is a program that is not there. Options may be nil.
//
// rules is asked at least once for each program, each time with an acpterm.Proposal without a ShellLine. What it says
// of a command that it would change counts as a denial: a part of a line cannot be changed. The variables that a line
// sets are in the Proposal's Requested.Env and Command.Env; one that it removes is there as an empty one. Variables of
// the shell that no program gets are not. If the line changes the environment as it goes, rules has to allow each
// program with and without the change. A verdict of rules that is none of acpterm's constants counts as a denial.
//
// The shell opens no files but /dev/null, sends no signals and is no login shell, unless Options say otherwise. Its
// other builtins may be used. They tell which files there are, anywhere: by patterns (echo *) and test.
//
// A request for a line must not set a variable that the line itself must not set (PATH, BASH_ENV, HOME ...), and its
// locale must be C, POSIX or one in UTF-8, whether the agent or the embedder sets it: LC_ALL, LC_CTYPE and LANG.
// In others a shell may read the line differently.
//
// Everything that decides by program, arguments or variables belongs into rules: beside this policy it would see a
// line as arguments of sh. Put it where rules would stand, in acpterm.Options.Policy or SessionOptions.Policy. Where
// acpterm.Options.Runner runs commands, ReadFiles and WriteFiles allow nothing, since files are looked up on this
// system. The policy may be used concurrently if rules may.
func Policy(rules acpterm.Policy, options *Options) acpterm.Policy {
	p := policy{rules: acpterm.Policies{rules}} // Policies deny what they do not know
	if options != nil {
		p.options = *options
	}
	return p
}

type policy struct {
	rules   acpterm.Policy
	options Options
}

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
	} else if !isKnownShell(proposal.Command) {
		return deny("the line is for a shell that is not known")
	}
	if reason := refusedEnvironment(proposal); reason != "" {
		return deny(reason)
	}
	commands, err := Parse(line)
	if err != nil {
		return deny("the line cannot be seen through: " + err.Error())
	}
	for i := range commands {
		commands[i].Moved = commands[i].Moved || proposal.DirUnknown
	}
	return p.decideAll(ctx, proposal, commands, decision)
}

// isKnownShell reports whether a line is run by a shell that this package reads lines for. On Windows it is cmd.exe.
func isKnownShell(c acpterm.Command) bool {
	return len(c.Args) > 0 && c.Args[0] == "sh" &&
		slices.Contains([]string{"sh", "dash", "bash", "ash", "busybox"}, filepath.Base(c.Path))
}

// decideAll is the strictest decision about the commands of a line.
func (p policy) decideAll(
	ctx context.Context, proposal acpterm.Proposal, commands []Command, strictest acpterm.Decision,
) acpterm.Decision {
	for _, c := range commands {
		if reason := p.refusedUse(c, proposal); reason != "" {
			return deny(reason)
		}
	}
	changed, reason := lasting(commands, proposal)
	if reason != "" {
		return deny(reason)
	}
	environments := [][]Assignment{nil}
	if len(changed) > 0 {
		environments = append(environments, changed)
	}
	for i, c := range commands {
		if c.Builtin || proposal.Command.ShellLine == "" && i == 0 {
			continue // of a plain command, the rules have seen the first
		}
		for _, before := range environments {
			d := p.decideOne(ctx, proposal, c, slices.Concat(before, c.Env))
			if d.Verdict < strictest.Verdict {
				strictest = d
			}
		}
	}
	return strictest
}

// refusedUse says why a command is not let through whatever the rules say; empty if it is.
func (p policy) refusedUse(c Command, proposal acpterm.Proposal) string {
	for _, r := range c.Redirects {
		if reason := p.refusedRedirect(r, c, proposal); reason != "" {
			return reason
		}
	}
	switch {
	case c.Login && !p.options.LoginShells:
		return fmt.Sprintf("%q is a login shell, whose start-up files may change PATH; start it without -l", c.Name)
	case c.Builtin && c.Name == "kill" && !p.options.Kill:
		return "the shell may not send signals"
	case c.Builtin:
		return ""
	case c.Moved && isRelative(c.Name):
		return fmt.Sprintf("after cd, %q is another program", c.Name)
	case c.Moved && hasRelativePath(proposal):
		return "after cd, a relative entry of PATH leads elsewhere"
	case leadsThroughProc(c.Name, proposal):
		return fmt.Sprintf("%q leads through a link in /proc, which is another one for each process", c.Name)
	}
	return ""
}

// decideOne asks the rules about one program, with what the line sets for it.
func (p policy) decideOne(
	ctx context.Context, proposal acpterm.Proposal, c Command, set []Assignment,
) acpterm.Decision {
	args, known := arguments(c.Args)
	inner, err := proposal.Propose(ctx, c.Name, args, values(set))
	switch {
	case errors.Is(err, acpterm.ErrCommandNotFound), errors.Is(err, acpterm.ErrNotExecutable):
		return deny(fmt.Sprintf("%q is no program here", c.Name))
	case err != nil:
		return deny(err.Error())
	}
	inner.ArgsUnknown = !known
	inner.DirUnknown = c.Moved
	inner.ValuesUnknown = slices.Concat(proposal.ValuesUnknown, unknownValues(set))
	d := p.rules.Decide(ctx, inner)
	if _, hides := prefixName(inner); hides && !isPrefix(filepath.Base(c.Name)) { // Parse knew it by another name
		if !known {
			return deny(fmt.Sprintf("%q runs a program that cannot be seen", c.Name))
		}
		d = p.Decide(ctx, inner)
	}
	if d.Change != nil && d.Verdict != acpterm.Deny {
		return deny(fmt.Sprintf("%q would have to be changed, which a part of a line cannot be", c.Name))
	}
	return d
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
