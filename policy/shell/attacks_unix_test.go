//go:build unix

package shell_test

// Attacks on the policy. Each line first runs in a real shell without a policy, and must do harm; then a manager with
// the policy must deny it.

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/policy"
	"github.com/acpterm/acpterm/policy/shell"
	"github.com/stretchr/testify/require"
)

// attack is a request that must be denied. In its texts, {root}, {outside}, {evil}, {bin} and {dir} stand for
// directories of a fixture.
type attack struct {
	name, line string
	args       []string // the request's arguments; line is then a program
	env        []acpterm.EnvVariable
	options    *shell.Options
	// rules decide about the programs. If nil, usualRules do.
	rules func(testing.TB, fixture) acpterm.Policy
	// hostDir is the host's working directory.
	hostDir string
	// bash means that only bash does the harm.
	bash bool
}

// fixture is a session's root, a git that the rules allow, and files and programs outside the root.
type fixture struct {
	dir      string
	replacer *strings.Replacer
	env      []string // of the host
}

const secretText = "nothing for the agent"

func newFixture(t testing.TB) fixture {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"bin", "evil", "home", "root/sub/sub", "root/.git", "outside/deep", "outside/.git"} {
		require.NoError(t, os.MkdirAll(at(name), 0o700))
	}
	b := fixture{dir: dir, env: []string{"PATH=" + at("bin") + ":/usr/bin:/bin", "HOME=" + at("home"), "GUARD=1"}}
	b.replacer = strings.NewReplacer("{dir}", dir, "{root}", at("root"), "{outside}", at("outside"),
		"{evil}", at("evil"), "{bin}", at("bin"))
	for name, text := range map[string]string{
		// git runs a pager from the environment or its configuration, and does harm without GUARD=1.
		"bin/git": `#!/bin/sh
pager=${GIT_PAGER-$(/bin/cat .git/config)}
[ -z "$pager" ] || "$pager"
[ "$GUARD" = 1 ] || : > {dir}/owned
`,
		"bin/cat":             "#!/bin/sh\n",
		"evil/git":            "#!/bin/sh\n: > {dir}/owned\n",
		"root/git":            "#!/bin/sh\n: > {dir}/owned\n",
		"root/tool":           "#!/bin/sh\n",
		"outside/tool":        "#!/bin/sh\n: > {dir}/owned\n",
		"outside/.git/config": "{evil}/git",
		"home/.profile":       "PATH={evil}:$PATH\n",
		"outside/secret":      secretText + "\n",
		"root/.git/config":    "",
	} {
		require.NoError(t, os.WriteFile(at(name), []byte(b.replacer.Replace(text)), 0o700))
	}
	for name, target := range map[string]string{
		"root/link": at("outside/deep"), "root/file": at("outside/owned"),
		"root/inside": "sub", "root/self": "/proc/self/cwd",
	} {
		require.NoError(t, os.Symlink(target, at(name)))
	}
	return b
}

// programs allows some programs, and git only in the root.
func programs(t testing.TB, b fixture) acpterm.Policy {
	rules := policy.Rules{Rules: []policy.Rule{
		{Name: "git", Verdict: acpterm.VerdictAllow, Program: "git", Dir: filepath.Join(b.dir, "root")},
	}}
	tool := filepath.Join(b.dir, "root/tool")
	rules.Rules = append(rules.Rules, allowing("cat", "sh", "bash", "env", "true", tool)...)
	compiled, err := rules.Compile(b.env)
	require.NoError(t, err)
	return compiled
}

func usualRules(t testing.TB, b fixture) acpterm.Policy {
	return acpterm.Policies{programs(t, b), policy.DenyVariables(policy.DangerousVariables()...)}
}

// guarded allows programs with GUARD=1.
func guarded(testing.TB, fixture) acpterm.Policy {
	return acpterm.PolicyFunc(func(_ context.Context, p acpterm.Proposal) acpterm.Decision {
		if slices.Contains(p.Command.Env, "GUARD=1") {
			return acpterm.Decision{Verdict: acpterm.VerdictAllow, Rule: "guarded"}
		}
		return acpterm.Decision{Rule: "guarded", Reason: "without its guard"}
	})
}

// withSafeVariables adds the recommended policy for variables.
func withSafeVariables(t testing.TB, b fixture) acpterm.Policy {
	return acpterm.Policies{programs(t, b), policy.AllowVariables(append(policy.SafeVariables(), "MODE=test*")...)}
}

// confined allows programs in the root.
func confined(t testing.TB, b fixture) acpterm.Policy {
	confined, err := policy.ConfineDir(filepath.Join(b.dir, "root"))
	require.NoError(t, err)
	return confined
}

// notOutside denies git in a directory where it does harm.
func notOutside(t testing.TB, b fixture) acpterm.Policy {
	compiled, err := policy.Rules{Default: acpterm.VerdictAllow, Rules: []policy.Rule{
		{Name: "not here", Verdict: acpterm.VerdictDeny, Program: "git", Dir: filepath.Join(b.dir, "outside")},
	}}.Compile(b.env)
	require.NoError(t, err)
	return compiled
}

var allowAll = acpterm.PolicyFunc(func(context.Context, acpterm.Proposal) acpterm.Decision {
	return acpterm.Decision{Verdict: acpterm.VerdictAllow}
})

func anything(testing.TB, fixture) acpterm.Policy { return allowAll }

// harmed reports whether a file outside the root was written, an evil program ran, or the secret was shown.
func (b fixture) harmed(output string) bool {
	for _, name := range []string{"owned", "outside/owned"} {
		if _, err := os.Stat(filepath.Join(b.dir, name)); err == nil {
			return true
		}
	}
	return strings.Contains(output, secretText)
}

// runUnguarded runs an attack without a policy.
func (b fixture) runUnguarded(t testing.TB, a attack) (output string) {
	t.Helper()
	sh := "/bin/sh"
	if a.bash {
		sh = "bash"
	}
	cmd := exec.CommandContext(t.Context(), sh, "-c", b.replacer.Replace(a.line))
	if a.args != nil {
		cmd = exec.CommandContext(t.Context(), a.line)
		for _, arg := range a.args {
			cmd.Args = append(cmd.Args, b.replacer.Replace(arg))
		}
	}
	cmd.Dir = filepath.Join(b.dir, "root")
	cmd.Env = slices.Clone(b.env)
	for _, v := range a.env {
		cmd.Env = append(cmd.Env, v.Name+"="+b.replacer.Replace(v.Value))
	}
	text, _ := cmd.CombinedOutput() // some fail after the harm
	return string(text)
}

// runGuarded runs an attack with the policy.
func (b fixture) runGuarded(t testing.TB, a attack) (output string, err error) {
	rules := usualRules
	if a.rules != nil {
		rules = a.rules
	}
	m := acptermtest.NewManager(t, &acpterm.Options{
		Commands: acpterm.CommandOptions{Env: b.env},
		Policy:   shell.NewPolicy(rules(t, b), a.options),
	})
	require.NoError(t, m.OpenSession("s", &acpterm.SessionOptions{Roots: []string{filepath.Join(b.dir, "root")}}))
	req := acpterm.CreateTerminalRequest{SessionID: "s", Command: b.replacer.Replace(a.line)}
	for _, arg := range a.args {
		req.Args = append(req.Args, b.replacer.Replace(arg))
	}
	for _, v := range a.env {
		req.Env = append(req.Env, acpterm.EnvVariable{Name: v.Name, Value: b.replacer.Replace(v.Value)})
	}
	term, err := m.Create(t.Context(), req, nil)
	if err != nil {
		return "", err
	}
	_, err = term.Wait(t.Context())
	require.NoError(t, err)
	return term.Output().Output, nil
}

func checkAttacks(t *testing.T, attacks []attack) {
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			b := newFixture(t)
			if a.hostDir != "" {
				t.Chdir(b.replacer.Replace(a.hostDir))
			}
			output := b.runUnguarded(t, a)
			require.True(t, b.harmed(output), "%s does no harm: %s", a.line, output)

			b = newFixture(t)
			if a.hostDir != "" {
				t.Chdir(b.replacer.Replace(a.hostDir))
			}
			output, err := b.runGuarded(t, a)
			require.ErrorIs(t, err, acpterm.ErrDenied, "%s: harmed: %t: %s", a.line, b.harmed(output), output)
			require.False(t, b.harmed(output))
		})
	}
}

var (
	mayRead  = &shell.Options{ReadFiles: true}
	mayWrite = &shell.Options{WriteFiles: true}
)

func TestProgramsUnderOtherNames(t *testing.T) {
	checkAttacks(t, []attack{
		{name: "not allowed", line: "{evil}/git log"},
		{name: "through a link and back", line: "link/../tool && true"},
		{name: "through a link and back, absolute", line: "{root}/link/../tool && true"},
		{name: "through a link and back, behind env", line: "env", args: []string{"link/../tool"}},
		{name: "through a link and back, in a shell", line: "sh -c link/../tool"},
		{name: "command -p", line: "command -p cat {outside}/secret"},
		{name: "command -p in a shell", line: "sh -c 'command -p cat {outside}/secret'"},
		{name: "command -p in shells", line: `sh -c "sh -c 'command -p cat {outside}/secret'"`},
		{name: "command -p in a plain shell", line: "sh", args: []string{"-c", "command -p cat {outside}/secret"}},
		{name: "login shell", line: "sh -lc 'git log'"},
		{name: "login shell, plain", line: "sh", args: []string{"-l", "-c", "git log"}},
		{name: "login shell of bash", line: "bash --login -c 'git log'"},
	})
}

// All options are set.
func TestProgramsThatALineHides(t *testing.T) {
	all := &shell.Options{ReadFiles: true, WriteFiles: true, Kill: true, LoginShells: true}
	var attacks []attack
	for _, line := range []string{
		"x={evil}/git; $x", "$(echo {evil}/git)", "{evil}/gi?", "~/../evil/git", "set -- {evil}/git; \"$@\"",
		"exec {evil}/git", "command {evil}/git", "time -p {evil}/git", "git log | {evil}/git", "true & {evil}/git",
		"(exec {evil}/git)",
		"eval {evil}/git", ". {evil}/git", "trap {evil}/git EXIT", "alias git={evil}/git\ngit log",
		"git() { {evil}/git; }; git log",
		"PATH={evil}; git log", "PATH={evil} git log", "export PATH={evil}; git log",
		"read PATH <<E\n{evil}\nE\ngit log",
		"for PATH in {evil}; do git log; done", "unset PATH; : ${PATH:={evil}}; git log", "env PATH={evil} git log",
		"cat <<E\n$({evil}/git)\nE", "sh <<E\n{evil}/git\nE", "sh /dev/stdin <<E\n{evil}/git\nE",
		"sh /dev/fd/3 3<<E\n{evil}/git\nE",
		"sh -c {evil}/git", "env {evil}/git", "env -S {evil}/git", "echo {evil}/git | xargs env",
		"find . -name tool -exec {evil}/git ';'",
		"cat \"`{evil}/git`\"", "cat ${x:-$({evil}/git)}", "BASH_ENV={evil}/git bash -c true",
		"bash -c 'exec -a cat {evil}/git'",
	} {
		attacks = append(attacks, attack{name: line, line: line, options: all})
	}
	for _, line := range []string{
		"printf -v PATH %s {evil}; git log", "hash -p {evil}/git git; git log", "cat <({evil}/git)",
		"coproc {evil}/git; wait",
		"bash <<< {evil}/git", "source {evil}/git", "x='a[$({evil}/git)]'; echo $((x))", "test -v 'a[$({evil}/git)]'",
		"declare -i x='a[$({evil}/git)]'", "jobs -x {evil}/git", "PS4='$({evil}/git)'; set -x; true",
		"builtin eval {evil}/git",
		"BASH_ALIASES=([git]={evil}/git); shopt -s expand_aliases\ngit log", "a=(1); unset 'a[$({evil}/git)]'",
		"{ coproc { {evil}/git; }; wait; }",
		"function git { {evil}/git; }; git log", "echo ${x:=$({evil}/git)}", "[[ -v 'a[$({evil}/git)]' ]]",
		"x='$({evil}/git)'; echo ${x@P}",
		"mapfile -C {evil}/git -c 1 x < git", "read 'a[$({evil}/git)]' <<E\n1\nE", "((a[$({evil}/git)]))",
	} {
		attacks = append(attacks, attack{name: line, line: line, options: all, bash: true})
	}
	for i := range attacks {
		attacks[i].name = strconv.Itoa(i) // the test's name is part of its directories, and the shell would parse it
	}
	checkAttacks(t, attacks)
}

func TestVariablesOfALine(t *testing.T) {
	checkAttacks(t, []attack{
		{name: "export of a quoted assignment", line: `x={evil}/git; export "GIT_PAGER=$x"; git log`},
		{name: "export of a quoted name", line: "read GIT_PAGER <<E\n{evil}/git\nE\nexport \"GIT_PAGER\"; git log"},
		{name: "export of a name in two pieces",
			line: "read GIT_PAGER <<E\n{evil}/git\nE\nexport GIT_'PAGER'; git log"},
		{name: "command export", line: "read GIT_PAGER <<E\n{evil}/git\nE\ncommand export GIT_PAGER; git log"},
		{name: "export before read", line: "export GIT_PAGER\nread GIT_PAGER <<E\n{evil}/git\nE\ngit log"},
		{name: "read under set -a", line: "set -a; read GIT_PAGER <<E\n{evil}/git\nE\ngit log"},
		{name: "read under set -o allexport", line: "set -o allexport; read GIT_PAGER <<E\n{evil}/git\nE\ngit log"},
		{name: "read under sh -a", line: "sh -a -c 'read GIT_PAGER <<E\n{evil}/git\nE\ngit log'"},
		{name: "read under sh -o allexport", line: "bash -o allexport -c 'read GIT_PAGER <<E\n{evil}/git\nE\ngit log'"},
		{name: "getopts under set -a", line: "set -a; getopts a: x -a {evil}/git; GIT_PAGER=$OPTARG; git log"},

		{name: "unset", line: "unset GUARD; git log", rules: guarded},
		{name: "unset -v", line: "unset -v GUARD; git log", rules: guarded},
		{name: "env -u", line: "env -u GUARD git log", rules: guarded},
		{name: "env --unset", line: "env --unset=GUARD git log", rules: guarded},
		{name: "env -u, plain", line: "env", args: []string{"-u", "GUARD", "git", "log"}, rules: guarded},
		{name: "env -u in between", line: "env -u GUARD env true && env -u GUARD sh -c 'env git log'", rules: guarded},
		{name: "read of what is exported", line: "read GUARD <<E\n0\nE\ngit log", rules: guarded},
		{name: "getopts of what is exported", line: "getopts x GUARD -x; git log", rules: guarded},
		{name: "assignment to what is exported", line: "GUARD=0; git log", rules: guarded},
		{name: "two values", line: "GUARD=0 git log; GUARD=1 git log", rules: guarded},
		{name: "two values, exported", line: "export GUARD=0; git log; export GUARD=1", rules: guarded},
		{name: "unset and set", line: "unset GUARD; git log; export GUARD=1", rules: guarded},
		{name: "set back behind a builtin", line: "GUARD=0; git log; GUARD=1 true", rules: guarded},

		{name: "not a safe variable", line: "GIT_PAGER={evil}/git git log", rules: withSafeVariables},
		{name: "not a safe value", line: "x={evil}/git; GIT_PAGER=$x git log", rules: withSafeVariables},
		{name: "not a safe value, read", rules: withSafeVariables,
			line: "export GIT_PAGER=cat; read GIT_PAGER <<E\n{evil}/git\nE\ngit log"},
		{name: "safe variable removed", line: "unset GUARD; git log", rules: withSafeVariables},

		{name: "exported function", line: "bash", args: []string{"-c", "git log"}, rules: anything,
			env: []acpterm.EnvVariable{{Name: "BASH_FUNC_git%%", Value: "() { : > {dir}/owned; }"}}},
		{name: "BASH_ENV", line: "bash -c 'git log'", rules: anything,
			env: []acpterm.EnvVariable{{Name: "BASH_ENV", Value: "{evil}/git"}}},
		{name: "HOME of a login shell",
			line: "sh -lc 'git log'", rules: anything, env: []acpterm.EnvVariable{{Name: "HOME", Value: "{dir}/home"}}},
	})
}

// The variables that neither a request nor the embedder may set for a line.
func TestEnvironmentOfALine(t *testing.T) {
	requests := []acpterm.CreateTerminalRequest{
		{Command: "git log | cat"},
		{Command: "sh", Args: []string{"-c", "git log"}},
	}
	manager := func(env []string) *acpterm.Manager {
		return acptermtest.NewManager(t, &acpterm.Options{
			Commands: acpterm.CommandOptions{Env: env}, Policy: shell.NewPolicy(allowAll, nil),
		})
	}
	for _, c := range []struct {
		variable, value string
		want            bool
	}{
		{"CI", "1", true}, {"MY_VARIABLE", "x", true},
		{"LC_ALL", "C", true}, {"LC_ALL", "C.UTF-8", true}, {"LANG", "de_DE.utf8", true}, {"LC_CTYPE", "UTF-8", true},
		{"LANG", "sr_RS.UTF-8@latin", true}, {"LC_ALL", "", true},
		{"LC_ALL", "ja_JP.SJIS", false}, {"LC_CTYPE", "ja_JP.SJIS", false}, {"LANG", "zh_TW.BIG5", false},
		{"LANG", "ja_JP", false},
		{"LC_ALL", "../x.UTF-8", false}, {"LC_ALL", "zh_CN.GB18030", false},
	} {
		t.Run(c.variable+"="+c.value, func(t *testing.T) {
			b := newFixture(t)
			inherited, requested := manager(append(slices.Clone(b.env), c.variable+"="+c.value)), manager(b.env)
			for _, req := range requests {
				may, reason := mayRun(t, inherited, req)
				require.Equal(t, c.want, may, "inherited: %s", reason)
				req.Env = []acpterm.EnvVariable{{Name: c.variable, Value: c.value}}
				may, reason = mayRun(t, requested, req)
				require.Equal(t, c.want, may, "requested: %s", reason)
				if !c.want {
					require.NotContains(t, reason, c.value)
				}
			}
		})
	}
	m := manager(newFixture(t).env)
	for _, name := range []string{
		"PATH", "ENV", "BASH_ENV", "BASH_FUNC_git%%", "BASHOPTS", "SHELLOPTS", "PS4", "IFS", "CDPATH", "HOME",
		"LD_PRELOAD", "LOCPATH", "POSIXLY_CORRECT",
	} {
		for _, req := range requests {
			req.Env = []acpterm.EnvVariable{{Name: name, Value: "/bin"}}
			may, _ := mayRun(t, m, req)
			require.False(t, may, name)
		}
	}
}

func TestRedirectionsOutOfTheRoots(t *testing.T) {
	checkAttacks(t, []attack{
		{name: "relative, through a link and back", line: "printf x > link/../owned", options: mayWrite},
		{name: "absolute, through a link and back", line: "printf x > {root}/link/../owned", options: mayWrite},
		{name: "opened to read and write", line: "printf x 1<> link/../owned", options: mayWrite},
		{name: "in exec", line: "exec 3> link/../owned", options: mayWrite},
		{name: "of a group", line: "{ printf x; } > link/../owned", options: mayWrite},
		{name: "of nothing", line: "> link/../owned", options: mayWrite},
		{name: "in a substitution", line: "true \"$(printf x > link/../owned)\"", options: mayWrite},
		{name: "in a shell", line: "sh -c 'printf x > link/../owned'", options: mayWrite},
		{name: "in a plain shell", line: "sh", args: []string{"-c", "printf x > link/../owned"}, options: mayWrite},
		{name: "to a link that leads nowhere yet", line: "printf x > file", options: mayWrite},
		{name: "upwards", line: "printf x > ../owned", options: mayWrite},
		{name: "a pattern that matches a link", line: "cd .; printf x > fil*", options: mayWrite, bash: true},
		{name: "a variable", line: "x=../owned; printf x > $x", options: mayWrite},
		{name: "after cd", line: "cd /; cd {root}/link; printf x > ../owned", options: mayWrite},
		{name: "after cd in a loop", line: "for i in 1 2; do printf x > owned; cd {outside}; done", options: mayWrite},
		{name: "home directory", line: "printf x > ~/../owned", options: mayWrite},
		{name: "read through a link and back", line: "read -r x < link/../secret; echo \"$x\"", options: mayRead},
		{name: "read, absolute", line: "read -r x < {outside}/secret; echo \"$x\"", options: mayRead},
		{name: "read upwards", line: "{ read -r x; echo \"$x\"; } < ../outside/secret", options: mayRead},
	})
}

func TestRuleOfADirectory(t *testing.T) {
	checkAttacks(t, []attack{
		{name: "cd", line: "cd {outside} && git log"},
		{name: "cd out of ConfineDir", line: "cd {outside} && git log", rules: confined},
		{name: "cd to where git is denied", line: "cd {outside} && git log", rules: notOutside},
		{name: "cd before a loop's end", line: "for i in 1 2; do git log; cd {outside}; done"},
		{name: "cd in a shell", line: "sh -c 'cd {outside}; git log'"},
		{name: "env -C", line: "env -C {outside} git log"},
		{name: "env -C, plain", line: "env", args: []string{"-C", "{outside}", "git", "log"}},
	})
}

func TestBuiltinsAlone(t *testing.T) {
	checkAttacks(t, []attack{
		{name: "read", line: "read -r x < {outside}/secret; echo \"$x\""},
		{name: "read in a loop", line: "while read -r x; do echo \"$x\"; done < {outside}/secret"},
		{name: "read from a descriptor", line: "exec 3< {outside}/secret; read -r x <&3; echo \"$x\""},
		{name: "read of what is open for reading and writing", line: "read -r x 0<> {outside}/secret; echo \"$x\""},
		{name: "read through a pipe", line: "< {outside}/secret read -r x && echo \"$x\""},
		{name: "read in a plain shell", line: "sh", args: []string{"-c", "read -r x < {outside}/secret; echo \"$x\""}},
		{name: "substitution that reads", line: "echo \"$(< {outside}/secret)\"", bash: true},
		{name: "dot", line: ". {evil}/git"},
		{name: "configuration", line: "printf '%s\\n' {evil}/git >> .git/config; git log"},
		{name: "configuration, by exec", line: "exec 3>> .git/config; echo {evil}/git >&3; git log"},
		{name: "configuration, by a group", line: "{ echo {evil}/git; } > .git/config; git log"},
		{name: "configuration, in a shell", line: "sh -c 'echo {evil}/git > .git/config'; git log"},
		{name: "configuration, in a plain shell",
			line: "sh", args: []string{"-c", "echo {evil}/git > .git/config; git log"}},
	})
}

// The builtin kill reaches processes outside all terminals.
func TestKill(t *testing.T) {
	for _, a := range []attack{
		{name: "alone", line: "kill {victim} && true"},
		{name: "with a signal", line: "kill -KILL {victim}"},
		{name: "command kill", line: "command kill {victim}"},
		{name: "in a shell", line: "sh -c 'kill {victim}'"},
		{name: "in a plain shell", line: "sh", args: []string{"-c", "kill {victim}"}},
		{name: "in a substitution", line: "true \"$(kill {victim})\""},
	} {
		t.Run(a.name, func(t *testing.T) {
			b := newFixture(t)
			victim := startVictim(t, &b)
			b.runUnguarded(t, a)
			<-victim

			b = newFixture(t)
			victim = startVictim(t, &b)
			_, err := b.runGuarded(t, a)
			require.ErrorIs(t, err, acpterm.ErrDenied)
			select {
			case <-victim:
				t.Error("the victim is dead")
			default:
			}

			a.options = &shell.Options{Kill: true}
			_, err = b.runGuarded(t, a)
			require.NoError(t, err)
			<-victim
		})
	}
}

// startVictim starts the process {victim}. It returns a channel that is closed when the process has ended.
func startVictim(t testing.TB, b *fixture) <-chan struct{} {
	cmd := exec.Command("sleep", "1000")
	require.NoError(t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	b.replacer = strings.NewReplacer("{victim}", strconv.Itoa(cmd.Process.Pid))
	return ended
}

// requireDecision requires that the line is allowed or denied.
func requireDecision(t testing.TB, a attack, allowed bool) {
	t.Helper()
	_, err := newFixture(t).runGuarded(t, a)
	if allowed {
		require.NoError(t, err, a.line)
	} else {
		require.ErrorIs(t, err, acpterm.ErrDenied, a.line)
	}
}

// A line may set the variables that the recommended policy lets a request set, to the known values in its list.
func TestSafeVariablesOfALine(t *testing.T) {
	for line, want := range map[string]bool{
		"GIT_PAGER=true git log && CI=1 LC_ALL=C cat x":     false,
		"GIT_PAGER= git log && CI=1 LC_ALL=C cat x":         true,
		"export NO_COLOR=1 && git log; env PAGER=cat cat x": true,
		"x=1; for i in a b; do cat \"$i\" \"$x\"; done":     true,
		"MODE=test1 git log":                                true,
		"x=1; MODE=test$x git log":                          false,
		"CI=$(git log) git log":                             true,  // CI may have any value
		"export MODE=test1; git log; MODE=test2 git log":    false, // git may receive either
		"MODE=test1 git log; MODE=test2 git log":            true,
		"X=1 git log":                                       false,
		"export X=1; git log":                               false,
		"env -u CI git log":                                 true,
		"env -u X git log":                                  false,
	} {
		requireDecision(t, attack{line: line, rules: withSafeVariables}, want)
	}
}

func TestOptions(t *testing.T) {
	all := &shell.Options{ReadFiles: true, WriteFiles: true, Kill: true, LoginShells: true}
	for _, c := range []struct {
		line    string
		options *shell.Options
		want    bool
	}{
		{"git log > /dev/null 2>&1 < /dev/null", nil, true},
		{"git log | cat", nil, true},
		{"cat <<E\nx\nE\ngit log", nil, true},
		{"echo * && test -f file", nil, true},
		{"x=1; y=$(git log); for i in $x $y; do git log; done", nil, true}, // not exported
		{"MY_VARIABLE=1 git log; MY_VARIABLE=2 git log", nil, true},
		{"export MY_VARIABLE=1 && git log", nil, true},
		{"cd sub && cat x", nil, true},
		{"./tool && sub/../tool && inside/../tool", nil, true},

		{"printf x > sub/new", nil, false},
		{"printf x > sub/new", mayRead, false},
		{"printf x > sub/new", mayWrite, true},
		{"printf x > inside/new", mayWrite, true},
		{"printf x > {root}/sub/sub/../../new", mayWrite, true},
		{"printf x > inside/sub/../new", mayWrite, true},
		{"cd sub; printf x > {root}/new", mayWrite, true},
		{"cd sub; printf x > new", mayWrite, false},
		{"printf x > not-there/new", mayWrite, false},
		{"printf x > /dev/stdout", all, false},
		{"printf x > /dev/fd/1", all, false},
		{"printf x > /proc/self/fd/1", all, false},
		{"printf x > /dev/tcp/127.0.0.1/1", all, false},
		{"read -r x < git", nil, false},
		{"read -r x < git", mayWrite, false},
		{"read -r x < git", mayRead, true},
		{"read -r x < inside/../git", mayRead, true},
		{"read -r x <> git", mayRead, false},
		{"read -r x <> git", mayWrite, false},
		{"read -r x <> git", all, true},
		{". ./git", all, false},
		{"kill -0 1", mayWrite, false},
		{"sh -lc true", mayRead, false},
		{"sh -lc true", all, true},
		{"sh -c true", nil, true},
	} {
		requireDecision(t, attack{line: c.line, options: c.options}, c.want)
	}
}
