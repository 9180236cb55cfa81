package main

// Ready rule sets, which -rules knows by name. A set allows only commands whose options it knows to be harmless, so an
// option that a later version of a program adds is not allowed.

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/policy"
)

//go:embed rulesets/*.json
var ruleSets embed.FS

// setNames returns the names of the sets.
func setNames() []string { return []string{"read-only", "git-read", "go", "node", "python", "rust"} }

// ruleSet is a file of rulesets.
type ruleSet struct {
	name string

	About    string         `json:"about"`
	Limits   string         `json:"limits"`
	Commands []knownCommand `json:"commands"`
}

// knownCommand tells which arguments of programs are harmless.
type knownCommand struct {
	Programs []string `json:"programs"`
	// Reason says which arguments are not allowed, and why.
	Reason string `json:"reason"`
	// Project means that the program runs code, or obeys a configuration, of the directory that it runs in, which must be
	// known.
	Project bool `json:"project"`

	// Skip are arguments that may stand in front of Args. Args are the first arguments.
	Skip []string `json:"skip"`
	Args []string `json:"args"`
	// Any allows any further arguments, even unknown ones.
	Any bool `json:"any"`
	// Flags are letters of options without a value, which may be combined. Values are letters of options with one, which
	// ends the argument. Options are whole arguments; "*" at the end matches any text.
	Flags   string   `json:"flags"`
	Values  string   `json:"values"`
	Options []string `json:"options"`
	// Never are texts that no argument may contain.
	Never []string `json:"never"`
	// Operands are the arguments that are no options: none if empty, "local" for names and paths in the directory, or
	// "any". There are at most Most of them, unless that is 0. The first matches First, and each Each.
	Operands string      `json:"operands"`
	Most     int         `json:"most"`
	First    *expression `json:"first"`
	Each     *expression `json:"each"`

	// Shown describes the arguments to a model. By default, these are Args.
	Shown string `json:"shown"`
	// Match and NoMatch are examples, which a test checks.
	Match   []string `json:"match"`
	NoMatch []string `json:"noMatch"`
}

// expression is a regular expression in JSON.
type expression struct{ *regexp.Regexp }

func (e *expression) UnmarshalText(text []byte) (err error) {
	e.Regexp, err = regexp.Compile(string(text))
	return err
}

// readSet reads one of setNames.
func readSet(name string) (*ruleSet, error) {
	data, err := ruleSets.ReadFile("rulesets/" + name + ".json")
	if err != nil {
		return nil, err
	}
	set := &ruleSet{name: name}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	return set, decoder.Decode(set)
}

// allows reports whether arguments are harmless. known tells that they are all literal.
func (c *knownCommand) allows(args []string, known bool) bool {
	if !known {
		return c.Any && c.Args == nil && runtime.GOOS != "windows"
	}
	if runtime.GOOS == "windows" && slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "/") }) {
		return false // the sort of Windows writes the file after /O
	}
	for len(args) > 0 && slices.Contains(c.Skip, args[0]) {
		args = args[1:]
	}
	if len(args) < len(c.Args) || !slices.Equal(args[:len(c.Args)], c.Args) {
		return false
	}
	args = args[len(c.Args):]
	if c.Any {
		return true
	}
	operands := 0
	for _, arg := range args {
		switch {
		case slices.ContainsFunc(c.Never, func(text string) bool { return strings.Contains(arg, text) }):
			return false
		case len(arg) > 1 && arg[0] == '-':
			if !c.allowsOption(arg) {
				return false
			}
		case !c.allowsOperand(arg, operands):
			return false
		default:
			operands++
		}
	}
	return c.Most == 0 || operands <= c.Most
}

// allowsOption reports whether an argument that begins with "-" is harmless.
func (c *knownCommand) allowsOption(arg string) bool {
	if slices.ContainsFunc(c.Options, func(pattern string) bool {
		prefix, open := strings.CutSuffix(pattern, "*")
		return arg == pattern || open && strings.HasPrefix(arg, prefix)
	}) {
		return true
	}
	for _, letter := range arg[1:] {
		switch {
		case strings.ContainsRune(c.Values, letter):
			return true
		case !strings.ContainsRune(c.Flags, letter):
			return false
		}
	}
	return true
}

// allowsOperand reports whether an argument that is no option is harmless, after a number of others.
func (c *knownCommand) allowsOperand(arg string, before int) bool {
	switch {
	case c.First != nil && before == 0 && !c.First.MatchString(arg), c.Each != nil && !c.Each.MatchString(arg):
		return false
	case c.Operands == "any":
		return true
	}
	// pytest, ruff and rustc read arguments from the file after @.
	return c.Operands == "local" && filepath.IsLocal(arg) && arg[0] != '@' && arg[0] != '~' &&
		!slices.Contains(strings.FieldsFunc(arg, func(c rune) bool { return c == '/' || c == '\\' }), "..")
}

// form describes the arguments to a model; "" means any.
func (c *knownCommand) form() string {
	form := strings.Join(c.Args, " ")
	if c.Shown != "" {
		form = c.Shown
	}
	return form
}

// setPolicy decides about the commands of sets.
type setPolicy struct {
	programs map[string]acpterm.Policy // allow a program, with any arguments, by the name it is called by
	sets     []*ruleSet
}

// compileSets looks up the programs of sets. compile is Rules.CompileRemote, or Rules.Compile for an environment.
func compileSets(sets []*ruleSet, compile func(policy.Rules) (acpterm.Policy, error)) (setPolicy, error) {
	p := setPolicy{make(map[string]acpterm.Policy), sets}
	for _, set := range sets {
		for _, c := range set.Commands {
			for _, program := range c.Programs {
				if p.programs[program] != nil {
					continue
				}
				allowed, err := compile(policy.Rules{Rules: []policy.Rule{
					{Name: program, Verdict: acpterm.VerdictAllow, Program: program},
				}})
				if err != nil {
					return p, err
				}
				p.programs[program] = allowed
			}
		}
	}
	return p, nil
}

// decide returns the decision about a command that a set allows.
func (s setPolicy) decide(ctx context.Context, p acpterm.Proposal) (acpterm.Decision, bool) {
	name := strings.TrimSuffix(strings.ToLower(p.Name), ".exe")
	program := s.programs[name]
	if program == nil || len(p.Command.Args) == 0 || program.Decide(ctx, p).Verdict != acpterm.VerdictAllow {
		return acpterm.Decision{}, false
	}
	for _, set := range s.sets {
		for _, c := range set.Commands {
			if !slices.Contains(c.Programs, name) || c.Project && p.DirUnknown {
				continue
			}
			if c.allows(p.Command.Args[1:], !p.ArgsUnknown) {
				return acpterm.Decision{Verdict: acpterm.VerdictAllow, Rule: set.name + ": " + name}, true
			}
		}
	}
	return acpterm.Decision{}, false
}

// withSets returns a policy with the decisions of rules, except that the sets allow what no rule matches.
func withSets(rules acpterm.Policy, sets setPolicy) acpterm.Policy {
	return acpterm.PolicyFunc(func(ctx context.Context, p acpterm.Proposal) acpterm.Decision {
		d := rules.Decide(ctx, p)
		if d.Rule != unmatchedRule || d.Verdict == acpterm.VerdictAllow {
			return d
		}
		if allowed, ok := sets.decide(ctx, p); ok {
			return allowed
		}
		return d
	})
}
