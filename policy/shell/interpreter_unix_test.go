//go:build unix

package shell_test

// The policy for each shell that CommandOptions.Shell can name.

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/policy"
	"github.com/acpterm/acpterm/policy/shell"
	"github.com/stretchr/testify/require"
)

// shells returns a directory with links and programs named like shells. Links to shells missing on this machine are
// left out.
func shells(t *testing.T) string {
	dir := t.TempDir()
	link := func(name, program string) {
		if file, err := exec.LookPath(program); err == nil {
			file, err = filepath.EvalSymlinks(file)
			require.NoError(t, err)
			require.NoError(t, os.Symlink(file, filepath.Join(dir, name)))
		}
	}
	for _, name := range []string{"sh", "bash", "dash", "zsh", "fish", "busybox", "env", "true", "cat"} {
		link(name, name)
	}
	for program, names := range map[string]string{"zsh": "sh bash", "bash": "busybox", "busybox": "sh ash"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, program+"-as"), 0o700))
		for name := range strings.FieldsSeq(names) {
			link(program+"-as/"+name, program)
		}
	}
	for _, name := range []string{"pwsh", "cmd", "wsl", "unknown"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\nexit 0\n"), 0o700))
	}
	return dir
}

// ruled returns a manager whose rules allow true and pwsh. whole is their verdict on whole lines.
func ruled(t *testing.T, dir string, interpreter acpterm.Shell, whole acpterm.Verdict,
	options *shell.Options) *acpterm.Manager {
	t.Helper()
	rules := policy.Rules{ShellLines: whole, Rules: allowing("true", "pwsh", "env", "cmd", "wsl")}
	env := []string{"PATH=" + dir, "HOME=" + dir}
	compiled, err := rules.Compile(env)
	require.NoError(t, err)
	return acptermtest.NewManager(t, &acpterm.Options{
		Commands: acpterm.CommandOptions{
			Env:        env,
			Shell:      &interpreter,
			ShellLines: acpterm.ShellAlways,
		}, Policy: shell.NewPolicy(compiled, options),
	})
}

func TestInterpretersThatAreRead(t *testing.T) {
	dir := shells(t)
	for _, c := range []struct {
		program string
		args    []string
		login   bool
		known   bool
	}{
		{"sh", []string{"-c"}, false, true},
		{"dash", []string{"-c"}, false, true},
		{"bash", []string{"-c"}, false, true},
		{"bash", []string{"--norc", "--posix", "-ec"}, false, true},
		{"bash", []string{"-o", "pipefail", "-c", "--"}, false, true},
		{dir + "/bash", []string{"-c"}, false, true},
		{"busybox", []string{"sh", "-c"}, false, true},
		{"busybox", []string{"ash", "-c"}, false, true},
		{dir + "/busybox-as/sh", []string{"-c"}, false, true},
		{dir + "/busybox-as/ash", []string{"-c"}, false, true},

		{"bash", []string{"-lc"}, true, true},
		{"bash", []string{"--login", "-c"}, true, true},
		{"busybox", []string{"sh", "-lc"}, true, true},
		{dir + "/busybox-as/sh", []string{"-l", "-c"}, true, true},

		{"bash", []string{"-x"}, false, false},        // the line is a file's name
		{"bash", []string{"-c", "cat"}, false, false}, // the line is $0
		{"bash", []string{"-ic"}, false, false},       // start-up files and aliases
		{"bash", []string{"-kc"}, false, false},       // assignments anywhere
		{"bash", []string{"-Oextglob", "-c"}, false, false},
		{"bash", []string{"--rcfile", "x", "-c"}, false, false},
		{"bash", []string{"busybox", "sh", "-c"}, false, false},
		{dir + "/bash-as/busybox", []string{"sh", "-c"}, false, false}, // bash runs the file sh
		{"busybox", []string{"env", "sh", "-c"}, false, false},
		{"busybox", []string{"true"}, false, false},
		{"env", []string{"bash", "-c"}, false, false},
		{"zsh", []string{"-c"}, false, false},
		{"fish", []string{"-c"}, false, false},
		{dir + "/zsh-as/sh", []string{"-c"}, false, false},
		{dir + "/zsh-as/bash", []string{"-c"}, false, false},
		{"pwsh", []string{"-NoProfile", "-Command"}, false, false},
		{"cmd", []string{"/d", "/s", "/c"}, false, false},
		{"wsl", []string{"--exec", "bash", "-c"}, false, false},
		{"unknown", []string{"-c"}, false, false},
	} {
		file := c.program
		if !filepath.IsAbs(file) {
			file = filepath.Join(dir, file)
		}
		file, err := filepath.EvalSymlinks(file)
		if err != nil {
			t.Logf("there is no %s", c.program)
			continue
		}
		interpreter := acpterm.Shell{Program: c.program, Args: c.args}
		for _, login := range []bool{false, true} {
			m := ruled(t, dir, interpreter, acpterm.VerdictAllow, &shell.Options{LoginShells: login})
			may, reason := mayRun(t, m, acpterm.CreateTerminalRequest{Command: "true && true"})
			require.Equal(t, c.known && (login || !c.login), may, "%v, login %v: %s", interpreter, login, reason)
			if !c.known && filepath.Base(c.program) != "busybox" { // it names the file: zsh, not sh
				require.Contains(t, reason, filepath.Base(file), "%v", interpreter)
			}
			for _, line := range []string{
				"cat x", "true; cat x", "pwsh -c true", "cmd /c true", "env PWSH.EXE -c 'true'", "wsl true",
			} {
				may, _ := mayRun(t, m, acpterm.CreateTerminalRequest{Command: line})
				require.False(t, may, "%v: %s", interpreter, line)
			}
			require.NoError(t, m.Close())
		}
	}
}

// The agent's variables affect neither the choice of the shell nor the commands that it runs first.
func TestVariablesForInterpreters(t *testing.T) {
	dir := shells(t)
	evil := t.TempDir()
	for _, name := range []string{"bash", "pwsh", "true"} {
		require.NoError(t, os.WriteFile(filepath.Join(evil, name), []byte("#!/bin/sh\nexit 0\n"), 0o700))
	}
	bash := acpterm.Shell{Program: "bash", Args: []string{"-c"}}
	pwsh := acpterm.Shell{Program: "pwsh", Args: []string{"-NoProfile", "-Command"}}
	for _, name := range []string{
		"PATH", "ENV", "BASH_ENV", "ZDOTDIR", "HOME", "SHELLOPTS", "PS4", "LD_PRELOAD", "BASH_FUNC_true%%",
	} {
		for _, interpreter := range []acpterm.Shell{bash, pwsh} {
			m := ruled(t, dir, interpreter, acpterm.VerdictAllow, &shell.Options{LoginShells: true, OtherShells: true})
			req := acpterm.CreateTerminalRequest{Command: "true"}
			may, reason := mayRun(t, m, req)
			require.True(t, may, reason)
			req.Env = []acpterm.EnvVariable{{Name: name, Value: evil}}
			may, _ = mayRun(t, m, req)
			require.False(t, may, "%s for %v", name, interpreter)
		}
	}
	m := ruled(t, dir, pwsh, acpterm.VerdictAllow, &shell.Options{OtherShells: true})
	for name, want := range map[string]bool{
		"PSModulePath": false, "psmodulepath": false, "PSExecutionPolicyPreference": false, "ComSpec": false,
		"PATHEXT": false, "Path": false, "__PSLockdownPolicy": false, "POWERSHELL_X": false, "WSLENV": false,
		"fish_function_path": false, "DOTNET_STARTUP_HOOKS": false, "CI": true, "ENVIRONMENT": true,
	} {
		may, reason := mayRun(t, m, acpterm.CreateTerminalRequest{
			Command: "true", Env: []acpterm.EnvVariable{{Name: name, Value: evil}},
		})
		require.Equal(t, want, may, "%s: %s", name, reason)
	}
}

// With OtherShells, the rules decide about a line as a whole. Readable lines and plain commands are still analysed.
func TestOtherShells(t *testing.T) {
	dir := shells(t)
	whole := &shell.Options{OtherShells: true}
	pwsh := acpterm.Shell{Program: "pwsh", Args: []string{"-Command"}}
	for _, c := range []struct {
		interpreter acpterm.Shell
		options     *shell.Options
		whole       acpterm.Verdict
		line        string
		want        bool
	}{
		{pwsh, nil, acpterm.VerdictAllow, "true", false},
		{pwsh, whole, acpterm.VerdictAllow, "Get-Item | % { cat $_ }", true},
		{pwsh, whole, acpterm.VerdictDeny, "true", false},
		{acpterm.Shell{Program: "cmd", Args: []string{"/c"}}, whole, acpterm.VerdictAllow, "dir & ver", true},
		{acpterm.Shell{}, whole, acpterm.VerdictAllow, "true && true", true},
		{acpterm.Shell{}, whole, acpterm.VerdictAllow, "cat x", false},
		{acpterm.Shell{}, whole, acpterm.VerdictAllow, "x() { cat x; }; x", false},
		{acpterm.Shell{Program: "sh", Args: []string{"-lc"}}, whole, acpterm.VerdictAllow, "true", false},
		{acpterm.Shell{Program: "sh", Args: []string{"-ic"}}, whole, acpterm.VerdictAllow, "true", false},
	} {
		m := ruled(t, dir, c.interpreter, c.whole, c.options)
		may, reason := mayRun(t, m, acpterm.CreateTerminalRequest{Command: c.line})
		require.Equal(t, c.want, may, "%v: %s: %s", c.interpreter, c.line, reason)
		for _, plain := range [][]string{
			{"pwsh", "-Command", "true"}, {"cmd", "/c", "true"}, {"env", "pwsh", "true"}, {"wsl", "--exec", "true"},
			{dir + "/../" + filepath.Base(dir) + "/pwsh", "-c", "true"},
		} {
			may, _ := mayRun(t, m, acpterm.CreateTerminalRequest{Command: plain[0], Args: plain[1:]})
			require.False(t, may, "%v", plain)
		}
	}
}

// If a policy changes the arguments of the shell that runs a line, the line is denied.
func TestLineOfAChangedCommand(t *testing.T) {
	p := shell.NewPolicy(acpterm.Policies{}, &shell.Options{OtherShells: true})
	for _, args := range [][]string{nil, {"sh"}, {"sh", "-c", "true; cat x"}, {"sh", "-c", "true", "x"}} {
		d := p.Decide(t.Context(), acpterm.Proposal{Command: acpterm.Command{
			Path: "/bin/sh", Args: args, Dir: "/", ShellLine: "true",
		}})
		require.Equal(t, acpterm.VerdictDeny, d.Verdict, "%q", args)
	}
}
