package shell

// NewPolicy asks another policy about every program of a line.

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/acpterm/acpterm"
)

// Options relaxes the restrictions on shells. If nil or zero, shells may do nothing but start programs.
type Options struct {
	// ReadFiles allows the shell to read files below the session's roots, as in `read x < file`.
	ReadFiles bool
	// WriteFiles allows the shell to write files below the session's roots, as in `echo x > file`. Note that some
	// files, such as .git/config, Makefile and package.json, can cause an allowed program to run another one. Also,
	// file names are resolved before the line runs, so symbolic links may still be created in between.
	WriteFiles bool
	// Kill allows the shell to use its kill builtin, which can send signals to any of the user's processes.
	Kill bool
	// LoginShells allows lines to start login shells, as in `bash -lc`. Their start-up files may change PATH, so the
	// programs seen by the rules may not be the ones that run.
	LoginShells bool
	// OtherShells lets the rules decide on lines for shells that this package does not support, such as PowerShell,
	// cmd.exe, zsh, fish and wsl (see acpterm.CommandOptions.Shell). By default, these lines are denied. The rules see
	// the entire line as ShellLine, so policy.Rules.ShellLines applies. Allowing a line allows everything in it.
	OtherShells bool
}

// NewPolicy returns a policy that asks rules about every program that a command runs. These are all programs in a shell
// line, and both programs of a plain command that runs another one (env, xargs, sudo, sh -c). The strictest verdict
// applies. Missing programs and lines rejected by Parse are denied. If options is nil, the defaults are used.
//
// The policy calls rules at least once per program, each time with an acpterm.Proposal without a ShellLine. Unknown
// verdicts count as denials, and so do Changes, because part of a line cannot be changed. The Proposal's Requested.Env
// and Command.Env include variables set by the line (removed ones are empty), but not unexported shell variables. If
// the line changes the environment of later commands, rules must allow each program both with and without the change.
//
// Unless options allow it, the shell may not open files other than /dev/null, send signals, or be a login shell. All
// other builtins are allowed, so patterns (echo *) and test can be used to find out whether any file exists.
//
// A request for a line must not set any variable that the line itself must not set (PATH, BASH_ENV, HOME ...). The
// locale (LC_ALL, LC_CTYPE and LANG), whether set by the agent or by the embedder, must be C, POSIX or a UTF-8 locale,
// because in any other locale a shell may read the line differently.
//
// Policies that decide by program, arguments or variables should be part of rules. Anywhere else, they would see a line
// as a mere argument of sh. Use the returned policy instead of rules, in acpterm.Options.Policy or
// SessionOptions.Policy. If acpterm.Options.Runner is set, ReadFiles and WriteFiles have no effect, because files are
// resolved on the local machine. The policy is safe for concurrent use if rules is.
func NewPolicy(rules acpterm.Policy, options *Options) acpterm.Policy {
	p := policy{rules: acpterm.Policies{rules}} // Policies deny an unknown verdict
	if options != nil {
		p.options = *options
	}
	return p
}

type policy struct {
	rules   acpterm.Policy
	options Options
}

// ruleName is the Rule of this package's own decisions.
const ruleName = "shell"

func deny(reason string) acpterm.Decision {
	return acpterm.Decision{Verdict: acpterm.VerdictDeny, Rule: ruleName, Reason: reason}
}

// Decide applies the rules to each of the command's programs and returns the strictest decision.
func (p policy) Decide(ctx context.Context, proposal acpterm.Proposal) acpterm.Decision {
	line := proposal.Command.ShellLine
	decision := acpterm.Decision{Verdict: acpterm.VerdictAllow, Rule: ruleName}
	if line == "" {
		decision = p.rules.Decide(ctx, proposal)
		name, runsAnother := prefixName(proposal)
		if decision.Verdict == acpterm.VerdictDeny || decision.Change != nil || !runsAnother {
			return decision
		}
		line = quote(append([]string{name}, proposal.Command.Args[1:]...))
	} else if args := proposal.Command.Args; len(args) < 2 || args[len(args)-1] != line {
		return deny("the line is not the last argument of its shell")
	} else if reason := unreadable(proposal); reason != "" {
		return p.decideWhole(ctx, proposal, reason)
	} else if reason := p.refusedOptions(proposal.Command); reason != "" {
		return deny(reason)
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

// decideAll returns the strictest decision about the commands of a line.
func (p policy) decideAll(
	ctx context.Context, proposal acpterm.Proposal, commands []Command, strictest acpterm.Decision,
) acpterm.Decision {
	for _, c := range commands {
		if reason := p.refusedUse(c, proposal); reason != "" {
			return deny(reason)
		}
	}
	changed, reason := lastingChanges(commands, proposal)
	if reason != "" {
		return deny(reason)
	}
	environments := [][]Assignment{nil}
	if len(changed) > 0 {
		environments = append(environments, changed)
	}
	for i, c := range commands {
		if c.Builtin || proposal.Command.ShellLine == "" && i == 0 {
			continue // the rules have seen the plain command itself
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

// refusedUse returns the reason to deny a command regardless of the rules, or "".
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
	case !proposal.Remote() && leadsThroughProc(c.Name, proposal): // a Runner's LookPath fails for such a name
		return fmt.Sprintf("%q leads through a link in /proc, which is another one for each process", c.Name)
	}
	return ""
}

// decideOne asks the rules about one program and the variables that the line sets for it.
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
	if _, hides := prefixName(inner); hides && !isPrefix(filepath.Base(c.Name)) { // a link to a prefix program
		if !known {
			return deny(fmt.Sprintf("%q runs a program that cannot be seen", c.Name))
		}
		d = p.Decide(ctx, inner)
	}
	if d.Change != nil && d.Verdict != acpterm.VerdictDeny {
		return deny(fmt.Sprintf("%q would have to be changed, which a part of a line cannot be", c.Name))
	}
	return d
}

// prefixName returns the name, in the table of prefixes, of a program that runs another one. It is the program's own
// name, or the name of its file if the program is a link. busybox and toybox act on the name they are called by, so
// their file is ignored.
func prefixName(p acpterm.Proposal) (name string, runsAnother bool) {
	if isPrefix(p.Name) {
		return p.Name, true
	}
	base := filepath.Base(p.Command.Path)
	return base, isPrefix(base) && base != "busybox" && base != "toybox"
}

func isPrefix(name string) bool {
	_, found := prefixes[tableName(name)]
	return found
}

// quote returns a line with the words quoted, so that a shell reads them literally.
func quote(words []string) string {
	for i, word := range words {
		words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return strings.Join(words, " ")
}

// arguments returns the texts of arguments. known is true if all are literal.
func arguments(args []Arg) (texts []string, known bool) {
	known = true
	for _, arg := range args {
		texts = append(texts, arg.Text)
		known = known && arg.Literal
	}
	return texts, known
}
