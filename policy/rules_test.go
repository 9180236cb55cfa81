package policy_test

// How rules are read and what they match.

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/acpterm/acpterm/policy"
	"github.com/stretchr/testify/require"
)

// target is the setting of attacks on rules: the directory of the intended programs, two directories that the agent can
// write to, and the rules. The agent works in the second of the two.
type target struct {
	bin, evil, cwd string
	env            []string
	rules          acpterm.Policy
}

func newTarget(t *testing.T) target {
	bin, evil, cwd := hosttest.Programs(t, "git", "multi", "curl"), hosttest.Programs(t, "git", "other"), hosttest.Programs(t, "git", "tool")
	require.NoError(t, os.Symlink(filepath.Join(bin, "multi"), filepath.Join(bin, "list")))
	require.NoError(t, os.Symlink(filepath.Join(bin, "multi"), filepath.Join(bin, "remove")))
	require.NoError(t, os.Symlink(filepath.Join(bin, "curl"), filepath.Join(evil, "harmless")))
	require.NoError(t, os.Symlink(filepath.Join(bin, "git"), filepath.Join(cwd, "renamed")))
	env := []string{"PATH=" + bin}
	rules, err := policy.ParseRules([]byte(`{
		"rules": [
			{"name": "git, looking", "verdict": "allow", "program": "git", "args": ["status"],
				"match": [["git", "status"]], "noMatch": [["git"], ["git", "status", "-v"], ["git", "push"]]},
			{"name": "git log", "verdict": "allow", "program": "git", "args": ["log", "..."],
				"match": [["git", "log"], ["git", "log", "-n", "3"]]},
			{"name": "git show", "verdict": "allow", "program": "git", "args": ["show", "HEAD~?", "--format=*"]},
			{"name": "git asks", "verdict": "ask", "program": "git", "args": ["push", "..."]},
			{"name": "no force", "verdict": "deny", "reason": "not by force", "program": "git",
				"anyArg": ["-f", "--force*"],
				"match": [["git", "push", "--force-with-lease"]], "noMatch": [["git", "push"]]},
			{"name": "list", "verdict": "allow", "program": "list"},
			{"name": "tool here", "verdict": "allow", "program": "` + cwd + `/tool", "args": [], "dir": "` + cwd + `"},
			{"name": "no curl", "verdict": "deny", "program": "curl"},
			{"name": "everything in evil", "verdict": "allow", "program": "` + evil + `/other"},
			{"name": "not installed", "verdict": "allow", "program": "no-such-program"}
		]}`))
	require.NoError(t, err)
	compiled, err := rules.Compile(env)
	require.NoError(t, err)
	return target{bin, evil, cwd, env, compiled}
}

func TestRulesUnderAttack(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs scripts that the system runs")
	}
	target := newTarget(t)
	bin, evil, cwd := target.bin, target.evil, target.cwd
	m := acptermtest.NewManager(t, &acpterm.Options{
		Policy:   target.rules,
		Commands: acpterm.CommandOptions{Env: target.env, ShellLines: acpterm.ShellNever},
	})
	for _, c := range []struct {
		want    bool
		command string
		args    []string
		path    string // set by the agent
	}{
		{true, "git", []string{"status"}, ""},
		{true, "git", []string{"log", "-n", "5", "any thing\nat all"}, ""},
		{true, "git", []string{"show", "HEAD~1", "--format=%H %s"}, ""},
		{true, bin + "/git", []string{"status"}, ""},
		{true, "list", nil, ""},
		{true, cwd + "/tool", []string{}, ""},
		{true, "./tool", []string{}, ""},
		{true, evil + "/other", []string{"x"}, ""},

		{false, "git", nil, ""},
		{false, "git", []string{"push"}, ""},                         // without Approve, Ask denies
		{false, "git", []string{"status", ""}, ""},                   // one argument more
		{false, "git", []string{"status\n--upload-pack=x"}, ""},      // a pattern does not end at the end of a line
		{false, "git", []string{"-c", "core.pager=x", "status"}, ""}, // and does not begin in the middle
		{false, "git", []string{"show", "HEAD~12", "--format=x"}, ""},
		{false, "git", []string{"log", "--force-with-lease"}, ""}, // the strictest wins
		{false, "git", []string{"status"}, evil},                  // shadowed by the agent's PATH
		{false, "./git", []string{"status"}, ""},                  // by a file in the directory
		{false, "./renamed", []string{"status"}, ""},              // git, but called something else
		{false, "GIT", []string{"status"}, ""},
		{false, "remove", nil, ""}, // same file as list, but does something else under this name
		{false, "multi", nil, ""},
		{false, cwd + "/tool", []string{"x"}, ""},
		{false, "curl", nil, ""},
		{false, evil + "/harmless", nil, ""}, // curl by another name
		{false, "curl", nil, cwd},
		{false, evil + "/git", []string{"status"}, ""},
	} {
		req := acpterm.CreateTerminalRequest{SessionID: "s", Command: c.command, Args: c.args, Cwd: cwd}
		if c.path != "" {
			req.Env = []acpterm.EnvVariable{{Name: "PATH", Value: c.path}}
		}
		_, err := m.Create(t.Context(), req, nil)
		require.Equal(t, c.want, err == nil, "%+v: %v", c, err)
	}
}

// A rule that denies matches more than one that allows: a file under any name, any file with a name, and the unknown.
func TestRulesThatDeny(t *testing.T) {
	argsUnknown := func(p *acpterm.Proposal) { p.ArgsUnknown = true }
	if runtime.GOOS == "windows" {
		t.Skip("needs programs without an extension")
	}
	bin, dir := hosttest.Programs(t, "curl", "git"), hosttest.RealTempDir(t)
	curl, git := filepath.Join(bin, "curl"), filepath.Join(bin, "git")
	for _, c := range []struct {
		rule           policy.Rule
		name, path     string
		change         func(*acpterm.Proposal)
		denied, allows bool // whether the rule matches, if it denies and if it allows
	}{
		{rule: policy.Rule{Program: "curl"}, name: "curl", path: curl, denied: true, allows: true},
		{rule: policy.Rule{Program: "curl"}, name: "harmless", path: curl, denied: true},
		{rule: policy.Rule{Program: "curl"}, name: "curl", path: git, denied: true},
		{rule: policy.Rule{Program: "curl"}, name: "git", path: git},
		{rule: policy.Rule{Program: curl}, name: "harmless", path: curl, denied: true},
		{rule: policy.Rule{Program: curl}, name: "curl", path: git},
		{rule: policy.Rule{Dir: dir}, name: "git", path: git, denied: true, allows: true},
		{rule: policy.Rule{Dir: dir}, change: func(p *acpterm.Proposal) { p.DirUnknown = true }, denied: true},
		{rule: policy.Rule{Dir: bin}, change: func(p *acpterm.Proposal) { p.DirUnknown = true }, denied: true},
		{rule: policy.Rule{Dir: bin}, name: "git", path: git},
		{rule: policy.Rule{Args: []string{"a"}}, change: argsUnknown, denied: true},
		{rule: policy.Rule{AnyArg: []string{"b"}}, change: argsUnknown, denied: true},
	} {
		command := acpterm.Command{Path: c.path, Args: []string{c.name, "a"}, Dir: dir}
		p := acpterm.Proposal{Name: c.name, Command: command}
		if c.change != nil {
			c.change(&p)
		}
		for verdict, matches := range map[acpterm.Verdict]bool{acpterm.VerdictDeny: c.denied, acpterm.VerdictAllow: c.allows} {
			c.rule.Name, c.rule.Verdict = "rule", verdict
			rules := policy.Rules{Default: acpterm.VerdictAsk, Rules: []policy.Rule{c.rule}}
			compiled, err := rules.Compile([]string{"PATH=" + bin})
			require.NoError(t, err)
			require.Equal(t, matches, compiled.Decide(t.Context(), p).Rule == "rule", "%+v, %s", c.rule, verdict)
		}
	}
}

// paths is a Runner with each program in every directory of a PATH.
type paths struct{ acptermtest.Commands }

func (paths) LookPath(_ context.Context, c acpterm.Command) (acpterm.Found, error) {
	for _, variable := range c.Env {
		if dir, found := strings.CutPrefix(variable, "PATH="); found {
			return acpterm.Found{Path: dir + "/" + c.Args[0]}, nil
		}
	}
	return acpterm.Found{}, &acpterm.Error{Kind: acpterm.ErrCommandNotFound, Command: c.Args[0]}
}

// A rule that denies a path denies both the path's present file and its file at the time of Compile.
func TestADeniedPathIsLookedUpForEachDecision(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs links")
	}
	dir := hosttest.RealTempDir(t)
	file := func(name string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700))
		return path
	}
	link, first, second := filepath.Join(dir, "link"), file("first"), file("second")
	denied, err := policy.Rules{Default: acpterm.VerdictAllow, Rules: []policy.Rule{
		{Name: "link", Verdict: acpterm.VerdictDeny, Program: link},
	}}.Compile(nil) // the link does not exist yet
	require.NoError(t, err)
	verdict := func(p acpterm.Policy, path string) acpterm.Verdict {
		return p.Decide(t.Context(), acpterm.Proposal{
			Name: filepath.Base(path), Command: acpterm.Command{Path: path, Args: []string{path}, Dir: dir},
		}).Verdict
	}
	require.Equal(t, acpterm.VerdictAllow, verdict(denied, first))
	require.NoError(t, os.Symlink(first, link))
	require.Equal(t, acpterm.VerdictDeny, verdict(denied, first))

	moved, err := policy.Rules{Default: acpterm.VerdictAllow, Rules: []policy.Rule{
		{Name: "link", Verdict: acpterm.VerdictDeny, Program: link},
	}}.Compile(nil)
	require.NoError(t, err)
	require.NoError(t, os.Remove(link))
	require.NoError(t, os.Symlink(second, link))
	require.Equal(t, acpterm.VerdictDeny, verdict(moved, second))
	require.Equal(t, acpterm.VerdictDeny, verdict(moved, first))
}

// With a Runner, rules match the program that the Runner finds in the environment that commands inherit.
func TestRulesWithARunner(t *testing.T) {
	project := hosttest.RealTempDir(t)
	rules := policy.Rules{Rules: []policy.Rule{{Name: "git", Verdict: acpterm.VerdictAllow, Program: "git", Dir: project}}}
	compiled, err := rules.Compile(nil)
	require.NoError(t, err)
	m := acptermtest.NewManager(t, &acpterm.Options{
		Runner: paths{acptermtest.Commands{"git": acptermtest.Print("", 0)}}, Commands: acpterm.CommandOptions{
			Env: []string{"PATH=/opt/tools"},
		},
		Policy: compiled,
	})
	for _, c := range []struct {
		cwd, path string
		want      bool
	}{
		{project, "/opt/tools", true}, {filepath.Join(project, "a"), "/opt/tools", true},
		{project, "/tmp/evil", false}, {filepath.Dir(project), "/opt/tools", false},
	} {
		_, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "git", Cwd: c.cwd,
			Env: []acpterm.EnvVariable{{Name: "PATH", Value: c.path}}}, nil)
		require.Equal(t, c.want, err == nil, "%+v: %v", c, err)
	}
}

func TestRulesThatAreWrong(t *testing.T) {
	for text, want := range map[string]string{
		`{"rules":[]} x`: "after the object",
		`{"rules":[]}}`:  "after the object",
		`{"rules":[]} ]`: "after the object",
		`[]`:             "cannot unmarshal",
	} {
		_, err := policy.ParseRules([]byte(text))
		require.ErrorIs(t, err, acpterm.ErrInvalidParams, text)
		require.ErrorContains(t, err, want, text)
	}
	for _, c := range []struct{ rules, want string }{
		{`{"verdict":"allow","program":"x"}`, "rules[0]: a rule needs a name"},
		{`{"name":"n","verdict":"perhaps"}`, `"perhaps" is no verdict`},
		{`{"name":"n","verdict":"allow","programm":"x"}`, "unknown field"},
		{`{"name":"n","verdict":"allow","program":"./x"}`, "must be a name or an absolute path"},
		{`{"name":"n","verdict":"allow","args":["...","x"]}`, "must be the last"},
		{`{"name":"n","verdict":"allow","dir":"x"}`, "absolute path"},
		{`{"name":"n","verdict":"allow","anyArg":[""]}`, "empty pattern"},
		{`{"name":"n","verdict":"allow","program":"x","args":["a*"],"match":[["x","b"]]}`, "its example of match: x b"},
		{`{"name":"n","verdict":"allow","program":"x","args":["a*"],"noMatch":[["x","ab"]]}`,
			"its example of noMatch: x ab"},
		{`{"name":"n","verdict":"deny","program":"x","match":[["y"]]}`, "fails its example of match: y"},
		{`{"name":"n","verdict":"allow","match":[[]]}`, "is empty"},
		{`{"name":"good","verdict":"allow"},{"name":"n","verdict":"allow","match":[["x"]],"args":["y"]}`, "rules[1]"},
	} {
		rules, err := policy.ParseRules([]byte(`{"rules":[` + c.rules + `]}`))
		if err == nil {
			_, err = rules.Compile([]string{})
		}
		require.ErrorIs(t, err, acpterm.ErrInvalidParams, c.rules)
		require.ErrorContains(t, err, c.want, c.rules)
	}
}

func TestRulesWithAnUnknownVerdictAreRefused(t *testing.T) {
	for _, unknown := range []acpterm.Verdict{-1, 9} {
		for _, rules := range []policy.Rules{
			{Default: unknown}, {ShellLines: unknown}, {Rules: []policy.Rule{{Name: "all", Verdict: unknown}}},
		} {
			_, err := rules.Compile(nil)
			require.ErrorIs(t, err, acpterm.ErrInvalidParams, "%+v", rules)
			require.ErrorContains(t, err, unknown.String())
			e, _ := errors.AsType[*acpterm.Error](err)
			require.NotEmpty(t, e.Field)
		}
	}
}

func FuzzParseRules(f *testing.F) {
	f.Add([]byte(`{"rules":[{"name":"n","verdict":"allow","program":"x","args":["a*","..."],"match":[["x","b"]]}]}`))
	f.Add([]byte(`{"default":"ask","shellLines":"allow"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		rules, err := policy.ParseRules(data)
		if err != nil {
			require.ErrorIs(t, err, acpterm.ErrInvalidParams)
			return
		}
		compiled, err := rules.Compile([]string{})
		if err != nil {
			require.ErrorIs(t, err, acpterm.ErrInvalidParams)
			return
		}
		command := acpterm.Command{Path: "/x", Args: []string{"x", "ab"}, Dir: "/"}
		d := compiled.Decide(t.Context(), acpterm.Proposal{Name: "x", Command: command})
		require.Contains(t, []acpterm.Verdict{acpterm.VerdictDeny, acpterm.VerdictAsk, acpterm.VerdictAllow}, d.Verdict)
	})
}
