package policy_test

// Rules: how they are read, what they match, and that their examples are held against them.

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/policy"
	"github.com/stretchr/testify/require"
)

func TestRulesUnderAttack(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs scripts that the system runs")
	}
	bin, evil, cwd := programs(t, "git", "multi", "curl"), programs(t, "git", "other"), programs(t, "git", "tool")
	require.NoError(t, os.Symlink(filepath.Join(bin, "multi"), filepath.Join(bin, "list")))
	require.NoError(t, os.Symlink(filepath.Join(bin, "multi"), filepath.Join(bin, "remove")))
	require.NoError(t, os.Symlink(filepath.Join(bin, "curl"), filepath.Join(evil, "harmless")))
	require.NoError(t, os.Symlink(filepath.Join(bin, "git"), filepath.Join(cwd, "renamed")))
	env := []string{"PATH=" + bin}
	rules, err := policy.ParseRules([]byte(`{
		"rules": [
			{"name": "git, looking", "verdict": "allow", "program": "git", "args": ["status"],
				"match": [["git", "status"]], "noMatch": [["git"], ["git", "status", "-v"], ["git", "push"]]},
			{"name": "git log", "verdict": "allow", "program": "git", "args": ["log", "..."], "match": [["git", "log"], ["git", "log", "-n", "3"]]},
			{"name": "git show", "verdict": "allow", "program": "git", "args": ["show", "HEAD~?", "--format=*"]},
			{"name": "git asks", "verdict": "ask", "program": "git", "args": ["push", "..."]},
			{"name": "no force", "verdict": "deny", "reason": "not by force", "program": "git", "anyArg": ["-f", "--force*"],
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
	m := newManager(t, &acpterm.Options{Policy: compiled, Env: env, Shell: acpterm.ShellNever})
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
		{false, "git", []string{"push"}, ""},                         // nobody to ask
		{false, "git", []string{"status", ""}, ""},                   // one argument more
		{false, "git", []string{"status\n--upload-pack=x"}, ""},      // no pattern ends at a line's end
		{false, "git", []string{"-c", "core.pager=x", "status"}, ""}, // or begins somewhere
		{false, "git", []string{"show", "HEAD~12", "--format=x"}, ""},
		{false, "git", []string{"log", "--force-with-lease"}, ""}, // the strictest wins
		{false, "git", []string{"status"}, evil},                  // shadowed by the agent's PATH
		{false, "./git", []string{"status"}, ""},                  // by a file in the directory
		{false, "./renamed", []string{"status"}, ""},              // git, but called something else
		{false, "GIT", []string{"status"}, ""},
		{false, "remove", nil, ""}, // the same file as list, which does something else by this name
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
		_, err := m.Create(t.Context(), req)
		require.Equal(t, c.want, err == nil, "%+v: %v", c, err)
	}
	elsewhere := acpterm.CreateTerminalRequest{SessionID: "s", Command: cwd + "/tool", Args: []string{}, Cwd: bin}
	_, err = m.Create(t.Context(), elsewhere)
	require.ErrorIs(t, err, acpterm.ErrDenied, "outside of the rule's directory")

	require.NoError(t, m.Close())

	lines := newManager(t, &acpterm.Options{Policy: compiled, Env: env})
	_, err = lines.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "git status; git push"})
	require.ErrorIs(t, err, acpterm.ErrDenied)
}

func TestRulesThatAreWrong(t *testing.T) {
	for text, want := range map[string]string{
		`{"rules":[{"verdict":"allow","program":"x"}]}`:             "rules[0]: a rule needs a name",
		`{"rules":[{"name":"n","verdict":"perhaps"}]}`:              `"perhaps" is no verdict`,
		`{"rules":[{"name":"n","verdict":"allow","programm":"x"}]}`: "unknown field",
		`{"rules":[]} x`: "after the object",
		`[]`:             "cannot unmarshal",
		`{"rules":[{"name":"n","verdict":"allow","program":"./x"}]}`:                                                "must be a name or an absolute path",
		`{"rules":[{"name":"n","verdict":"allow","args":["...","x"]}]}`:                                             "must be the last",
		`{"rules":[{"name":"n","verdict":"allow","dir":"x"}]}`:                                                      "absolute path",
		`{"rules":[{"name":"n","verdict":"allow","anyArg":[""]}]}`:                                                  "empty pattern",
		`{"rules":[{"name":"n","verdict":"allow","program":"x","args":["a*"],"match":[["x","b"]]}]}`:                `fails its example of match: x b`,
		`{"rules":[{"name":"n","verdict":"allow","program":"x","args":["a*"],"noMatch":[["x","ab"]]}]}`:             `fails its example of noMatch: x ab`,
		`{"rules":[{"name":"n","verdict":"deny","program":"x","match":[["y"]]}]}`:                                   `fails its example of match: y`,
		`{"rules":[{"name":"n","verdict":"allow","match":[[]]}]}`:                                                   "is empty",
		`{"rules":[{"name":"good","verdict":"allow"},{"name":"n","verdict":"allow","match":[["x"]],"args":["y"]}]}`: "rules[1]",
	} {
		rules, err := policy.ParseRules([]byte(text))
		if err == nil {
			_, err = rules.Compile([]string{})
		}
		require.ErrorIs(t, err, acpterm.ErrInvalidParams, text)
		require.ErrorContains(t, err, want, text)
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
		d := compiled.Decide(t.Context(), acpterm.Proposal{Name: "x", Command: acpterm.Command{Path: "/x", Args: []string{"x", "ab"}, Dir: "/"}})
		require.Contains(t, []acpterm.Verdict{acpterm.Deny, acpterm.Ask, acpterm.Allow}, d.Verdict)
	})
}
