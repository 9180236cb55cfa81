package policy

// Rules is a policy written as data, in Go or JSON, with examples that Compile checks.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/lookup"
)

// Rules specifies which programs may run, along with their arguments and directories. If a command matches several
// rules, the strictest verdict applies, and the first rule with that verdict is reported. Use ParseRules to parse Rules
// from JSON, and use Compile to convert them to a policy.
type Rules struct {
	// Default is the verdict for commands that do not match any rule. If zero, those commands are denied.
	Default acpterm.Verdict `json:"default,omitempty"`
	// ShellLines is the verdict for shell lines, which are not matched against Rules. If zero, shell lines are denied.
	// To apply the rules to each program in a shell line instead, use the policy/shell module.
	ShellLines acpterm.Verdict `json:"shellLines,omitempty"`
	Rules      []Rule          `json:"rules,omitempty"`
}

// A Rule specifies a verdict for all commands that match all of its conditions.
type Rule struct {
	// Name is the name of the rule, which must not be empty. Decisions made by the rule contain it as their Rule field.
	Name    string          `json:"name"`
	Verdict acpterm.Verdict `json:"verdict"`
	// Reason is an optional explanation of the verdict for the agent or the user. Decisions made by the rule contain it
	// as their Reason field.
	Reason string `json:"reason,omitempty"`

	// Program is either an absolute path or a name, which Compile looks up in PATH. If empty, any program matches.
	//
	// A rule that allows or asks only matches this file when it is called by this name, so agents cannot substitute a
	// file with the same name from another directory. A rule that denies matches the file regardless of the name that
	// it is called by. In addition, if Program is a name, a rule that denies also matches any other file with that
	// name. If Program is a path, it also matches whichever file is found at that path when the decision is made.
	Program string `json:"program,omitempty"`
	// Args specifies a pattern for each argument, not counting the program's name. In a pattern, "*" matches any text
	// and "?" matches any single character. The last pattern may be "...", which matches all remaining arguments. Note
	// that a nil slice matches any arguments, whereas an empty slice only matches commands without arguments.
	Args []string `json:"args"`
	// AnyArg, if non-nil, lists additional patterns. The rule only matches if at least one argument matches at least
	// one of these patterns.
	AnyArg []string `json:"anyArg,omitempty"`
	// Dir is the absolute path of a directory. The rule only matches commands that run in this directory or one of its
	// subdirectories. If Dir is empty, all directories match. A cd in a shell line can make it impossible to tell which
	// directory a command will run in. In that case, the rule only matches if it denies.
	Dir string `json:"dir,omitempty"`

	// Match and NoMatch list example commands, each starting with the program. Compile returns an error unless Program,
	// Args and AnyArg match every example in Match and none of the examples in NoMatch.
	Match   [][]string `json:"match,omitempty"`
	NoMatch [][]string `json:"noMatch,omitempty"`
}

// ParseRules parses Rules from a JSON object, whose keys are the field names in lower camel case. If data is invalid or
// contains an unknown field, ParseRules returns ErrInvalidParams.
func ParseRules(data []byte) (Rules, error) {
	var r Rules
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&r); err != nil {
		return Rules{}, invalidField("rules", err.Error())
	}
	if _, err := decoder.Token(); err != io.EOF {
		return Rules{}, invalidField("rules", "there is something after the object")
	}
	return r, nil
}

// Compile checks each rule against its examples and converts the rules to a policy. Programs are looked up when Compile
// is called, using the PATH in env, which should be the environment that commands will inherit. If env is nil, the
// environment of the current process is used. A rule that allows or asks will not match any command if its program does
// not exist. If a rule is invalid, Compile returns an ErrInvalidParams error that identifies the rule.
//
// If acpterm.Options.Runner is set, use CompileRemote instead. The Runner will then look up programs and directories
// each time a decision is made, using the environment that commands inherit.
func (r Rules) Compile(env []string) (acpterm.Policy, error) {
	if env == nil {
		env = os.Environ()
	}
	return r.compile(env, names{filepath.IsAbs, lookup.RealDir})
}

// CompileRemote is like Compile, but for a Manager with acpterm.Options.Runner set. Since programs and directories may
// not exist on the local machine, the programs in examples are only checked by name. If the Runner fails to resolve a
// rule's directory when a decision is made, the rule only matches if it denies.
func (r Rules) CompileRemote() (acpterm.Policy, error) {
	return r.compile([]string{}, names{isAbs, func(dir string) (string, error) {
		if !isAbs(dir) {
			return "", errors.New("must be an absolute path")
		}
		return dir, nil
	}})
}

// names define the paths that rules may contain.
type names struct {
	isAbs   func(path string) bool
	realDir func(dir string) (string, error)
}

func (r Rules) compile(env []string, paths names) (acpterm.Policy, error) {
	if err := checkVerdict("default", r.Default); err != nil {
		return nil, err
	}
	if err := checkVerdict("shellLines", r.ShellLines); err != nil {
		return nil, err
	}
	p := rulesPolicy{defaults: r}
	for i, rule := range r.Rules {
		if err := checkVerdict(fmt.Sprintf("rules[%d].verdict", i), rule.Verdict); err != nil {
			return nil, err
		}
		c, err := rule.compile(env, paths)
		if err == nil {
			err = c.checkExamples(env)
		}
		if err != nil {
			return nil, invalidField(fmt.Sprintf("rules[%d]", i), err.Error())
		}
		p.rules = append(p.rules, c)
	}
	return p, nil
}

// checkVerdict refuses unknown verdicts.
func checkVerdict(field string, v acpterm.Verdict) error {
	if v < acpterm.VerdictDeny || v > acpterm.VerdictAllow {
		return invalidField(field, v.String()+" is no verdict")
	}
	return nil
}

type rulesPolicy struct {
	defaults Rules
	rules    []compiledRule
}

// Decide returns the verdict of the strictest matching rule.
func (r rulesPolicy) Decide(ctx context.Context, p acpterm.Proposal) acpterm.Decision {
	if p.Command.ShellLine != "" {
		return acpterm.Decision{Verdict: r.defaults.ShellLines, Rule: "shell-lines",
			Reason: "shell lines are not allowed as such; a host can have policy/shell judge what they run"}
	}
	matched := false
	decision := acpterm.Decision{Verdict: r.defaults.Default, Rule: "default", Reason: "no rule allows this"}
	for _, rule := range r.rules {
		if rule.at(ctx, p).matches(p) && (!matched || rule.Verdict < decision.Verdict) {
			matched = true
			decision = acpterm.Decision{Verdict: rule.Verdict, Rule: rule.Name, Reason: rule.Reason}
		}
	}
	return decision
}

// compiledRule is a Rule with its program and directory looked up.
type compiledRule struct {
	Rule
	base string // the program's name, or empty for any
	path string // its file with links resolved; empty for any, or if it does not exist
	now  string // its file at the time of a decision; empty if not looked up
	dir  string // Dir with links resolved
	lost bool   // the Runner cannot resolve Program or Dir: the rule matches only if it denies
}

func (r Rule) compile(env []string, paths names) (c compiledRule, err error) {
	c.Rule = r
	switch {
	case r.Name == "":
		return c, fmt.Errorf("a rule needs a name")
	case slices.Contains(r.AnyArg, ""):
		return c, fmt.Errorf("an empty pattern in anyArg matches nothing that it could mean")
	case len(r.Args) > 1 && slices.Contains(r.Args[:len(r.Args)-1], "..."):
		return c, fmt.Errorf(`"..." must be the last of args`)
	case r.Program != "" && !paths.isAbs(r.Program) && lookup.NamesPath(r.Program):
		return c, fmt.Errorf("program %q must be a name or an absolute path", r.Program)
	}
	if r.Dir != "" {
		if c.dir, err = paths.realDir(r.Dir); err != nil {
			return c, fmt.Errorf("dir: %w", err)
		}
	}
	if r.Program != "" {
		c.base = filepath.Base(r.Program)
		if found, err := lookup.Program(r.Program, string(filepath.Separator), env); err == nil {
			c.base = filepath.Base(found) // with the extension, on Windows
			c.path, _ = filepath.EvalSymlinks(found)
		}
	}
	return c, nil
}

// at returns the rule for one proposal. If a Runner is set, it looks the program up. A rule that denies an absolute
// path looks the path up again, because the file may have been created, or its link changed, after Compile.
func (c compiledRule) at(ctx context.Context, p acpterm.Proposal) compiledRule {
	if !p.Remote() {
		if c.Verdict == acpterm.VerdictDeny && filepath.IsAbs(c.Program) {
			c.now, _ = p.LookPath(ctx, c.Program)
		}
		return c
	}
	c.base, c.path, c.dir = "", "", ""
	if c.Program != "" {
		var err error
		c.base = path.Base(c.Program)
		c.path, err = p.LookPath(ctx, c.Program)
		if err != nil && !errors.Is(err, acpterm.ErrCommandNotFound) && !errors.Is(err, acpterm.ErrNotExecutable) {
			c.base, c.lost = "", true
		}
	}
	if c.Dir != "" {
		var err error
		c.dir, err = p.RealDir(ctx, c.Dir)
		c.lost = c.lost || err != nil
	}
	return c
}

// matches reports whether a command meets all conditions. Unknown arguments and directories meet only the conditions of
// rules that deny.
func (c compiledRule) matches(p acpterm.Proposal) bool {
	if c.lost && c.Verdict != acpterm.VerdictDeny {
		return false
	}
	if c.dir != "" && !p.DirWithin(c.dir) && !(p.DirUnknown && c.Verdict == acpterm.VerdictDeny) {
		return false
	}
	if p.ArgsUnknown && (c.Args != nil || c.AnyArg != nil) {
		return c.Verdict == acpterm.VerdictDeny && c.matchesProgram(p.Name, p.Command.Path)
	}
	return c.matchesProgram(p.Name, p.Command.Path) && c.matchesArgs(arguments(p))
}

func (c compiledRule) matchesProgram(name, path string) bool {
	byName, byPath := sameFileName(c.base, name), path != "" && (path == c.path || path == c.now)
	switch {
	case c.base == "":
		return true
	case c.Verdict == acpterm.VerdictDeny && !isAbs(c.Program):
		return byName || byPath
	case c.Verdict == acpterm.VerdictDeny:
		return byPath
	}
	return byName && byPath
}

func (c compiledRule) matchesArgs(args []string) bool {
	if c.AnyArg != nil && !slices.ContainsFunc(args, func(arg string) bool {
		return slices.ContainsFunc(c.AnyArg, func(p string) bool { return pattern(p).matches(arg) })
	}) {
		return false
	}
	patterns := c.Args
	if patterns == nil {
		return true
	}
	if n := len(patterns); n > 0 && patterns[n-1] == "..." {
		patterns, args = patterns[:n-1], args[:min(n-1, len(args))]
	}
	return slices.EqualFunc(patterns, args, func(p, arg string) bool { return pattern(p).matches(arg) })
}

// isAbs reports whether a path is absolute, here or where a Runner runs commands.
func isAbs(p string) bool { return path.IsAbs(p) || filepath.IsAbs(p) }

// sameFileName compares names like the system does: on Windows it ignores case.
func sameFileName(a, b string) bool { return lookup.Key(a) == lookup.Key(b) }

// checkExamples fails if the rule does not decide an example as stated.
func (c compiledRule) checkExamples(env []string) error {
	for _, examples := range []struct {
		name string
		want bool
		all  [][]string
	}{{"match", true, c.Match}, {"noMatch", false, c.NoMatch}} {
		for _, example := range examples.all {
			if len(example) == 0 {
				return fmt.Errorf("an example of %s is empty", examples.name)
			}
			program := c.Program == "" || example[0] == c.Program
			if found, err := lookup.Program(example[0], string(filepath.Separator), env); err == nil && !program {
				path, _ := filepath.EvalSymlinks(found)
				program = c.matchesProgram(filepath.Base(found), path)
			}
			if (program && c.matchesArgs(example[1:])) != examples.want {
				return fmt.Errorf("rule %q fails its example of %s: %s",
					c.Name, examples.name, strings.Join(example, " "))
			}
		}
	}
	return nil
}
