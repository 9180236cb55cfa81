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

// Options specifies which restrictions on shells are relaxed. If nil or zero, a shell may only start programs.
type Options struct {
	// ReadFiles allows the shell to read any file under one of the session's roots, as in `read x < file`.
	ReadFiles bool
	// WriteFiles allows the shell to write any file under one of the session's roots, as in `echo x > file`. Note that
	// writing certain files, such as .git/config, Makefile and package.json, can cause an allowed program to run
	// another one. Note also that file names are resolved before the line is run, so a symbolic link may still be
	// created after the check.
	WriteFiles bool
	// Kill allows the shell to use its kill builtin, which can send signals to any of the user's processes.
	Kill bool
	// LoginShells allows lines to start login shells, as in `bash -lc`. Note that the start-up files of a login shell
	// may change PATH, so the programs that the rules see may not be the ones that run.
	LoginShells bool
	// OtherShells, if true, submits lines for shells that this package does not support, such as PowerShell, cmd.exe,
	// zsh, fish and wsl (see acpterm.CommandOptions.Shell), to the rules. Otherwise, these lines are denied. The rules
	// see the entire line as ShellLine, so policy.Rules.ShellLines applies. Note that if the rules allow a line,
	// everything in the line is allowed.
	OtherShells bool
}

// NewPolicy returns a policy that asks rules about every program that a command runs. For a shell line, this means
// every program in the line. For a plain command that runs another one (env, xargs, sudo, sh -c), it means both
// programs. If the verdicts differ, the strictest one applies. If a program does not exist, or if the line cannot be
// analysed, the command is denied. If options is nil, the defaults are used.
//
// The policy calls rules at least once for each program, each time with an acpterm.Proposal that does not have a
// ShellLine. An unknown verdict is treated as a denial. A Change to one of the programs is also treated as a denial,
// because it is not possible to change only part of a line. The Proposal's Requested.Env and Command.Env include any
// variables set by the line, with an empty value for those it removes, but do not include unexported shell variables.
// If the line changes the environment of later commands, each program is checked both with and without the change and
// must be allowed in both cases.
//
// Unless options allow it, the shell may not open any file other than /dev/null, send signals, or be a login shell. All
// other builtins are allowed. Note that this makes it possible to use patterns (echo *) and test to find out whether
// any given file exists.
//
// If a line is not allowed to set a variable (such as PATH, BASH_ENV or HOME), a request for the line is not allowed to
// set that variable either. The locale (LC_ALL, LC_CTYPE and LANG) must be C, POSIX or a UTF-8 locale, regardless of
// whether it is set by the agent or by the embedder. In any other locale, a shell might read the line differently.
//
// Policies that base their decisions on programs, arguments or variables should be included in rules. If they are used
// anywhere else, they will see a line only as an argument of sh. Use the returned policy instead of rules, as
// acpterm.Options.Policy or SessionOptions.Policy. Note that ReadFiles and WriteFiles have no effect if
// acpterm.Options.Runner is set, because files are resolved on the local machine. The policy is safe for concurrent use
// if rules is.
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
	commands, err := parse(line)
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
	ctx context.Context, proposal acpterm.Proposal, commands []command, strictest acpterm.Decision,
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
	environments := [][]assignment{nil}
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
func (p policy) refusedUse(c command, proposal acpterm.Proposal) string {
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
	ctx context.Context, proposal acpterm.Proposal, c command, set []assignment,
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
	key := tableName(name)
	_, found := prefixes[key]
	return found || hiddenPrograms[key] != ""
}

// quote returns a line with the words quoted, so that a shell reads them literally.
func quote(words []string) string {
	for i, word := range words {
		words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return strings.Join(words, " ")
}

// arguments returns the texts of arguments. known is true if all are literal.
func arguments(args []arg) (texts []string, known bool) {
	known = true
	for _, arg := range args {
		texts = append(texts, arg.Text)
		known = known && arg.Literal
	}
	return texts, known
}
